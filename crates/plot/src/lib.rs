//! The charts of fpstore: SVG text with axes, marks and labels, and numbers formatted for people.
//!
//! A [`Chart`] is the frame: title, axes and ticks. [`Marks`] are drawn into it at positions from 0
//! to 1 in both directions. A chart is a part of a page ([`Chart::inline`]) or a separate file
//! ([`Chart::to_file`]). Colours are CSS variables that follow a dark theme; a chart scales to the
//! available width of its page.
//!
//! The crate does not depend on stores, and no other crate's type is in its interface.
//!
//! ```
//! use fpstore_plot::{Chart, LogAxis, Marks, Size, numbers::short};
//!
//! let (x, y) = (LogAxis::close(8.0, 20.0), LogAxis::close(0.5, 4.0));
//! let mut marks = Marks::new(Size::CARD);
//! marks.line(&[(x.at(8.0), y.at(4.0)), (x.at(20.0), y.at(0.5))], "front");
//! marks.dot((x.at(8.0), y.at(4.0)), 3.5, "dot", "archive: 8 bytes, 4 us");
//! let chart = Chart {
//!     id: "schemes",
//!     title: "Bytes against time",
//!     description: "Two schemes.",
//!     x_label: "bytes",
//!     y_label: "us",
//!     x_ticks: x.ticks(short),
//!     y_ticks: y.ticks(short),
//! };
//! assert!(chart.to_file(&marks).starts_with("<svg "));
//! ```

mod axis;
mod chart;
mod marks;
pub mod numbers;

pub use axis::{Column, LogAxis, Tick, percent_axis};
pub use chart::{Chart, PALETTE, STYLE};
pub use marks::{Label, Marks, Size};
