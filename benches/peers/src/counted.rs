//! Runs one contender in steps controlled by another program, so that single steps can be counted.

use std::hint::black_box;
use std::io::{self, BufRead, Write};

use anyhow::{Context, Result};

use crate::contenders::{Built, Session};

/// Prints a word after each step and waits for a line on standard input: `built`; `warm` after the
/// first half of the queries, which fills the caches; `asked` after the other half.
pub fn ask_in_steps(built: &Built, queries: &[u64]) -> Result<()> {
    let (warming, counted) = queries.split_at(queries.len() / 2);
    let mut session = built.index.session();
    step("built")?;
    warm_asks(&mut *session, warming);
    step("warm")?;
    counted_asks(&mut *session, counted);
    step("asked")
}

fn step(word: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{word}").and_then(|()| out.flush()).context("standard output")?;
    io::stdin().lock().read_line(&mut String::new()).context("standard input")?;
    Ok(())
}

fn warm_asks(session: &mut dyn Session, queries: &[u64]) {
    for &needle in queries {
        black_box(session.ask(needle));
    }
}

/// Runs the counted queries. `counters.py` finds this function by its name.
#[inline(never)]
fn counted_asks(session: &mut dyn Session, queries: &[u64]) {
    for &needle in queries {
        black_box(session.ask(needle));
    }
}
