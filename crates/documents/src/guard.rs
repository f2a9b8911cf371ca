//! Converts panics of external parsers to errors.
//!
//! The readers of Parquet, HTML and compressed bytes are external crates, and hostile bytes make
//! some of them panic. Such a panic is the fault of one file, and must not end the program.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    /// Whether this thread runs an external parser, whose panics are not printed.
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// The result of `act`, or the message of its panic.
///
/// Values changed by `act` must not be used after a panic, unless they are valid at every step.
pub(super) fn guarded<T>(act: impl FnOnce() -> T) -> Result<T, String> {
    static SILENCE: Once = Once::new();
    SILENCE.call_once(|| {
        let print = take_hook();
        set_hook(Box::new(move |panic| {
            if !IS_GUARDED.get() {
                print(panic);
            }
        }));
    });
    let before = IS_GUARDED.replace(true);
    let done = catch_unwind(AssertUnwindSafe(act));
    IS_GUARDED.set(before);
    done.map_err(|panic| format!("its parser panicked: {}", message(&*panic)))
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_its_message_and_the_next_one_is_free_again() {
        assert_eq!(guarded(|| 7), Ok(7));
        let caught = guarded(|| -> u8 { panic!("at byte {}", 12) });
        assert_eq!(caught, Err("its parser panicked: at byte 12".into()));
        assert!(!IS_GUARDED.get());
    }
}
