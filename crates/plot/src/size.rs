//! The size of a chart, and of its parts.

/// The size of a chart in units of its drawing, and the room around the data.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Size {
    /// The width of the drawing.
    pub width: f64,
    /// The height of the drawing.
    pub height: f64,
    /// Room to the left of the data, for the labels of the upright axis.
    pub left: f64,
    /// Room to the right of the data.
    pub right: f64,
    /// Room above the data, for the name of the upright axis.
    pub top: f64,
    /// Room below the data, for the labels of the level axis.
    pub bottom: f64,
    /// The width of a letter, at most on average.
    pub letter: f64,
}

impl Size {
    /// One of several charts on a page.
    pub const CARD: Size = Size {
        width: 320.0,
        height: 220.0,
        left: 44.0,
        right: 10.0,
        top: 26.0,
        bottom: 42.0,
        letter: 7.2,
    };

    /// A chart in a file of its own, with a title above and room for names at the right.
    pub const SHEET: Size = Size {
        width: 800.0,
        height: 500.0,
        left: 56.0,
        right: 96.0,
        top: 56.0,
        bottom: 46.0,
        letter: 8.0,
    };

    /// The coordinate of a place, 0 to 1, from the left to the right end of the data.
    pub(crate) fn x(&self, at: f64) -> f64 {
        self.left + at * (self.width - self.left - self.right)
    }

    /// The coordinate of a place, 0 to 1, from the lower to the upper end of the data.
    pub(crate) fn y(&self, at: f64) -> f64 {
        self.height - self.bottom - at * (self.height - self.top - self.bottom)
    }
}
