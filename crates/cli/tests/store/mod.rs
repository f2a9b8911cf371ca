//! Stores and cleanings, by the library and by the program beside each other.

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
