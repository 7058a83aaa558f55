//! HTTP clients, built when they are first needed and shared by every conversation.
//!
//! Loading the system's certificates takes longer than everything else before a first request, so a plain `http:`
//! address gets a client without any; and a loopback address never goes through a proxy.

use std::sync::{Arc, Mutex, Once, PoisonError};
use std::time::Duration;

use reqwest::{Client, Url};

/// The clients built so far. Cloning shares them.
#[derive(Clone, Debug, Default)]
pub struct Clients(Arc<Mutex<Vec<(Route, Duration, Client)>>>);

/// What a client needs to reach an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Route {
    /// No proxy, no certificates.
    Loopback,
    /// A proxy where the environment names one; no certificates.
    Plain,
    /// A proxy where the environment names one; the system's certificates.
    Secure,
}

impl Clients {
    /// The client for an address, or why it cannot be built.
    pub fn get(&self, uri: &Url, connect: Duration) -> Result<Client, String> {
        let route = Route::to(uri);
        let mut clients = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let have = clients.iter().find(|(have, wait, _)| *have == route && *wait == connect);
        if let Some((_, _, client)) = have {
            return Ok(client.clone());
        }
        let client = route.build(connect)?;
        clients.push((route, connect, client.clone()));
        Ok(client)
    }
}

impl Route {
    fn to(uri: &Url) -> Self {
        let loopback = match uri.host_str() {
            Some("localhost") => true,
            Some(host) => host
                .trim_matches(['[', ']'])
                .parse::<std::net::IpAddr>()
                .is_ok_and(|address| address.is_loopback()),
            None => false,
        };
        match uri.scheme() {
            "http" if loopback => Self::Loopback,
            "http" if !proxy_is_secure() => Self::Plain,
            _ => Self::Secure,
        }
    }

    fn build(self, connect: Duration) -> Result<Client, String> {
        static PROVIDER: Once = Once::new();
        // Fails only where a provider is installed already, which serves as well.
        PROVIDER.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
        let builder = Client::builder()
            .connect_timeout(connect)
            // An answer from elsewhere would have been sent the key, or a changed request.
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .user_agent(concat!("crystal/", env!("CARGO_PKG_VERSION")));
        let builder = match self {
            Self::Secure => builder,
            Self::Plain => builder.tls_backend_preconfigured(trusts_nobody()),
            Self::Loopback => builder.no_proxy().tls_backend_preconfigured(trusts_nobody()),
        };
        builder.build().map_err(|error| crate::provider::http::failure::innermost(&error))
    }
}

fn trusts_nobody() -> rustls::ClientConfig {
    rustls::ClientConfig::builder()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth()
}

/// Whether a plain request may travel to a proxy that is itself spoken to by TLS.
fn proxy_is_secure() -> bool {
    ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"]
        .iter()
        .filter_map(std::env::var_os)
        .any(|value| value.to_string_lossy().to_ascii_lowercase().starts_with("https:"))
}
