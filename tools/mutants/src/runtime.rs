//! Selects the active change of the program. The changed copy of a crate includes this file.
//!
//! Every function takes the number of a change and behaves like the original program, unless that
//! change is active.

#![allow(missing_docs, dead_code)]

use std::cmp::PartialOrd;
use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::ops::*;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

/// Values of `ACTIVE`: not yet read from the environment; recording the reached changes; no change.
const UNREAD: u32 = u32::MAX;
const NOTING: u32 = u32::MAX - 1;
const NONE: u32 = u32::MAX - 2;

static ACTIVE: AtomicU32 = AtomicU32::new(UNREAD);
static REACHED: [AtomicBool; 1 << 16] = [const { AtomicBool::new(false) }; 1 << 16];
static NOTES: Mutex<Option<File>> = Mutex::new(None);

/// Whether change `number` is active.
#[inline(always)]
pub fn on(number: u32) -> bool {
    let active = ACTIVE.load(Relaxed);
    if active >= NOTING { without_number(number) } else { active == number }
}

/// The index of the active change among `count` changes from `number` on; larger if none is active.
#[inline(always)]
fn which(number: u32, count: u32) -> u32 {
    let active = ACTIVE.load(Relaxed);
    if active >= NOTING {
        return (0..count).find(|change| without_number(number + change)).unwrap_or(u32::MAX);
    }
    active.wrapping_sub(number)
}

#[cold]
#[inline(never)]
fn without_number(number: u32) -> bool {
    if ACTIVE.load(Relaxed) == UNREAD {
        let active = std::env::var("FPSTORE_MUTANT").ok().and_then(|text| text.parse().ok());
        let notes = std::env::var_os("FPSTORE_MUTANTS_REACHED");
        if let Some(path) = &notes {
            *NOTES.lock().unwrap() = OpenOptions::new().write(true).open(path).ok();
        }
        let none = if notes.is_some() { NOTING } else { NONE };
        ACTIVE.store(active.unwrap_or(none), Relaxed);
        return on(number);
    }
    if !REACHED[number as usize].swap(true, Relaxed)
        && let Some(file) = &mut *NOTES.lock().unwrap()
    {
        let _ = file.seek(SeekFrom::Start(u64::from(number))).and_then(|_| file.write_all(b"1"));
    }
    false
}

/// Whether a statement or an arm of a `match` is executed.
#[inline(always)]
pub fn keep(number: u32) -> bool {
    !on(number)
}

/// A condition, or its negation.
#[inline(always)]
pub fn flip(number: u32, value: bool) -> bool {
    value ^ on(number)
}

macro_rules! comparisons {
    ($($name:ident $trait:ident: $op:tt $($change:literal $other:tt)*;)*) => {$(
        #[inline(always)]
        pub fn $name<A: $trait<B> + ?Sized, B: ?Sized>(number: u32, a: &A, b: &B) -> bool {
            match which(number, const { [$($change),*].len() as u32 }) {
                $($change => a $other b,)*
                _ => a $op b,
            }
        }
    )*};
}

comparisons! {
    lt PartialOrd: < 0 <= 1 >=;
    gt PartialOrd: > 0 >= 1 <=;
    le PartialOrd: <= 0 < 1 >;
    ge PartialOrd: >= 0 > 1 <;
    eq PartialEq: == 0 !=;
    ne PartialEq: != 0 ==;
}

macro_rules! sums {
    ($($name:ident $assigned:ident: $trait:ident $op:tt $other_trait:ident $other:tt;)*) => {$(
        #[inline(always)]
        pub fn $name<A: $trait<Output = A> + $other_trait<Output = A>>(
            number: u32,
            a: A,
            b: A,
        ) -> A {
            if on(number) { a $other b } else { a $op b }
        }

        #[inline(always)]
        pub fn $assigned<A: $trait<Output = A> + $other_trait<Output = A>>(
            number: u32,
            b: A,
            a: A,
        ) -> A {
            $name(number, a, b)
        }
    )*};
}

sums! {
    add rev_add: Add + Sub -;
    sub rev_sub: Sub - Add +;
    mul rev_mul: Mul * Add +;
    div rev_div: Div / Mul *;
    rem rev_rem: Rem % Div /;
    and rev_and: BitAnd & BitOr |;
    or rev_or: BitOr | BitAnd &;
    xor rev_xor: BitXor ^ BitOr |;
}

#[inline(always)]
pub fn shl<A: Shl<B, Output = A> + Shr<B, Output = A>, B>(number: u32, a: A, b: B) -> A {
    if on(number) { a >> b } else { a << b }
}

#[inline(always)]
pub fn shr<A: Shl<B, Output = A> + Shr<B, Output = A>, B>(number: u32, a: A, b: B) -> A {
    if on(number) { a << b } else { a >> b }
}

#[inline(always)]
pub fn rev_shl<A: Shl<B, Output = A> + Shr<B, Output = A>, B>(number: u32, b: B, a: A) -> A {
    shl(number, a, b)
}

#[inline(always)]
pub fn rev_shr<A: Shl<B, Output = A> + Shr<B, Output = A>, B>(number: u32, b: B, a: A) -> A {
    shr(number, a, b)
}

#[inline(always)]
pub fn not<A: Not<Output = A>>(number: u32, a: A) -> A {
    if on(number) { a } else { !a }
}

#[inline(always)]
pub fn min<A: Ord>(number: u32, a: A, b: A) -> A {
    if on(number) { a.max(b) } else { a.min(b) }
}

#[inline(always)]
pub fn max<A: Ord>(number: u32, a: A, b: A) -> A {
    if on(number) { a.min(b) } else { a.max(b) }
}
