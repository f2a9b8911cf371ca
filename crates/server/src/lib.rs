//! A server that answers queries over HTTP, and adds new records.
//!
//! [`Server::open`] opens a store, takes its writer lock if the server may write, and starts the
//! threads that follow the store. The server runs on the tokio runtime of its caller: either it
//! listens itself ([`Server::bind`], [`Server::run`]), or a frontend passes single requests to it
//! ([`Server::handle`]). It prints nothing and handles no signals. `docs/serve.md` in the
//! repository describes the routes; [`fpstore_client`] sends requests to them.
//!
//! # Examples
//!
//! ```
//! use fpstore_client::Client;
//! use fpstore_server::{ServeSettings, Server};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("pages.fps");
//! # let mut builder = fpstore::Builder::new(&path)?;
//! # builder.push("c0f1789bed2eb9b8".parse()?, "https://example.org/a")?;
//! # builder.finish()?;
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! let server = Server::open(&path, ServeSettings::default())?;
//! let listener = server.bind(&"127.0.0.1:0".parse()?)?;
//! let mut client = Client::new(&listener.address().to_string())?;
//! let running = tokio::spawn(server.clone().run(listener));
//!
//! assert_eq!(client.info().await?.store.fingerprints, 1);
//! server.shutdown();
//! running.await??;
//! # Ok::<(), Box<dyn std::error::Error>>(()) })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod api;
mod protocol;
mod state;
mod steps {
    fpstore_base::counted_steps!(keys);
}
mod writing;

pub use fpstore_client::PageTemplates;
pub use fpstore_client::limits::{LIMIT_OPTIONS, ServeLimits};
pub use protocol::address::Address;
pub use protocol::line_queue::LineQueue;
pub use protocol::request::{BoxError, ResponseBody};
pub use protocol::socket::Listener;
pub use protocol::tokens::Tokens;
pub use state::following::FollowOptions;
pub use state::live_store::Log;
pub use state::opened::HasherOf;
pub use state::scrub::ScrubOptions;
pub use state::server::Server;
pub use state::settings::ServeSettings;
pub use writing::WritingOptions;
