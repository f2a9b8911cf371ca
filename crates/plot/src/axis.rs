//! Axes, which map numbers to positions from 0 to 1, and their ticks.

/// A label on an axis: its position from 0 to 1, and its text.
pub type Tick = (f64, String);

/// A column of a histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// The position of the column in the histogram, counted from 0.
    pub at: usize,
    /// The number of columns of the histogram.
    pub count: usize,
}

impl Column {
    /// The position of the middle of the column on the axis, 0 to 1.
    pub fn middle(self) -> f64 {
        (self.at as f64 + 0.5) / self.count.max(1) as f64
    }
}

/// An axis of shares from 0 to a round number of at least `most`: returns that number and the ticks
/// in percent.
pub fn percent_axis(most: f64) -> (f64, Vec<Tick>) {
    let (top, step) = [(0.02, 0.005), (0.05, 0.01), (0.1, 0.02), (0.2, 0.05), (0.5, 0.1)]
        .into_iter()
        .find(|&(top, _)| most <= top)
        .unwrap_or((1.0, 0.25));
    let count = (top / step + 0.5) as usize;
    let label = |i: usize| {
        let percent = i as f64 * step * 100.0;
        if step < 0.01 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
    };
    (top, (0..=count).map(|i| (i as f64 / count as f64, label(i))).collect())
}

/// A logarithmic axis, for numbers above 0.
#[derive(Clone, Copy, Debug)]
pub struct LogAxis {
    low: f64,
    high: f64,
}

impl LogAxis {
    /// An axis from the power of ten below `least` to the power of ten above `most`.
    pub fn around(least: f64, most: f64) -> Self {
        let low = (least.log10() + 1e-9).floor();
        let high = (most.log10() - 1e-9).ceil().max(low + 1.0);
        LogAxis { low, high }
    }

    /// An axis from slightly below `least` to slightly above `most`.
    pub fn close(least: f64, most: f64) -> Self {
        LogAxis { low: least.log10() - 0.08, high: most.log10() + 0.08 }
    }

    /// The position of a number on the axis, 0 to 1.
    pub fn at(&self, number: f64) -> f64 {
        ((number.log10() - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }

    /// The ticks: powers of ten, with numbers between them if the axis contains few powers of ten.
    pub fn ticks(&self, name: impl Fn(f64) -> String) -> Vec<Tick> {
        let powers = self.low.ceil() as i32 - 1..=self.high.floor() as i32;
        let steps: &[f64] = match self.high - self.low {
            span if span < 0.7 => &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0],
            span if span < 2.2 => &[1.0, 2.0, 5.0],
            _ => &[1.0],
        };
        let all = powers.flat_map(|p| steps.iter().map(move |step| step * 10_f64.powi(p)));
        let inside: Vec<f64> =
            all.filter(|v| (self.low - 1e-9..=self.high + 1e-9).contains(&v.log10())).collect();
        let every = inside.len().div_ceil(7).max(1);
        inside.into_iter().step_by(every).map(|v| (self.at(v), name(v))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numbers::short;

    #[test]
    fn axes_hold_their_numbers_and_have_few_labels() {
        for (least, most) in [(1.0, 1.3), (1.0, 1e6), (0.064, 0.064), (3.0, 9.0), (5.0, 30_000.0)] {
            for axis in [LogAxis::around(least, most), LogAxis::close(least, most)] {
                assert!(axis.at(least) < axis.at(most * 1.001), "{least} {most}");
                let ticks = axis.ticks(short);
                assert!(ticks.len() <= 8, "{least} {most}: {ticks:?}");
                assert!(ticks.iter().all(|(at, _)| (0.0..=1.0).contains(at)));
            }
        }
        for most in [0.0, 0.001, 0.02, 0.3, 1.0] {
            let (top, ticks) = percent_axis(most);
            assert!(most <= top && (3..=6).contains(&ticks.len()), "{most}: {ticks:?}");
            assert_eq!((ticks[0].0, ticks[ticks.len() - 1].0), (0.0, 1.0));
        }
    }
}
