//! Tests of stores and cleanings that use both the library and the program.

mod access;
mod build;
mod corpus;
mod doctor;
mod every_system;
mod history;
mod live;
mod nearest;
mod repair;
mod resources;
mod shared_directory;
