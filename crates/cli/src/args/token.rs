//! The option for the token of a server, and a client that sends it.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use clap::Args;
use fpstore_base::{lists, read_inputs};
use fpstore_client::Client;

use crate::session::command::variable;

/// The option for the token of the server to query.
#[derive(Args, Debug)]
pub(crate) struct TokenFileArg {
    /// File with the token for the server in its first line [default: $FPSTORE_TOKEN]
    #[arg(long, value_name = "FILE", requires = "server", hide_short_help = true)]
    token_file: Option<PathBuf>,
}

impl TokenFileArg {
    /// A client of the server with the URL given by `--server`.
    pub(crate) fn client(&self, url: &str) -> anyhow::Result<Client> {
        let client = Client::new(url).map_err(|error| anyhow!("--server {error}"))?;
        Ok(match token_of(self.token_file.as_deref())? {
            Some(token) => client.token(token),
            None => client,
        })
    }
}

/// The token for a server, from `file` or else from the environment; `None` if there is none.
pub(crate) fn token_of(file: Option<&Path>) -> anyhow::Result<Option<String>> {
    match file {
        Some(path) => first_token(path).map(Some),
        None => variable("FPSTORE_TOKEN")
            .map(|token| token.into_string().ok().context("FPSTORE_TOKEN is not UTF-8"))
            .transpose(),
    }
}

/// The first token in a file.
fn first_token(path: &Path) -> anyhow::Result<String> {
    let name = path.display();
    let text = read_inputs::read_list(path).with_context(|| format!("cannot read {name}"))?;
    let (_, token) = lists::rows(&text).next().with_context(|| format!("{name} holds no token"))?;
    Ok(token.trim().into())
}
