//! The colours and styles of charts.

/// The colours as CSS variables, for a light and for a dark theme.
pub const PALETTE: &str = include_str!("palette.css");

/// The styles of charts in a page; they need [`PALETTE`].
pub const STYLE: &str = include_str!("chart.css");
