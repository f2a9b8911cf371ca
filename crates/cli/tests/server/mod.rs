//! Tests of the guarantees of the server, over HTTP.

mod changes;
mod connections;
mod control_room;
mod followers;
mod judged;
mod lanes;
mod library;
mod life;
mod options;
mod queries;
mod remote;
mod stores;
mod width;
mod witness;
mod writes;
