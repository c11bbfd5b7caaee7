//! TLS: a client that trusts the certificate is answered, and told to come back so.

use std::{path::Path, process::Command, sync::Arc, time::Duration};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};
use tokio_rustls::{
    TlsConnector,
    rustls::{
        ClientConfig, RootCertStore,
        crypto::ring,
        pki_types::{CertificateDer, ServerName, pem::PemObject as _},
    },
};
use trellis_host::assembly::{Assembly, StoreSettings};
use trellis_server::{GraphSource, HostNames, Served, Server, Settings, Tokens};

use crate::stand::{SHOP, TOKEN, write};

/// Makes a certificate for `localhost` and its key.
fn certify(folder: &Path) {
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1"])
        .args(["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-addext", "basicConstraints=critical,CA:FALSE"])
        .args(["-keyout", "key.pem", "-out", "cert.pem"])
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
}

#[tokio::test]
async fn a_certificate_is_served() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), SHOP);
    certify(folder.path());
    let (cert, key, shop) = (folder.path().join("cert.pem"), folder.path().join("key.pem"), folder.path().join("shop"));
    let kept = StoreSettings::of(&shop, &[]).address_or_default(Some("memory".to_owned())).open().await.unwrap();
    let served = Served::open(vec![GraphSource::new(shop, Assembly::new(), kept)], false).await.unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let settings = || Settings::new(Tokens::chosen(TOKEN).unwrap(), HostNames::local(address));
    assert!(settings().tls(&key, &key).is_err(), "a key is no certificate");
    let server = Server::new(served, settings().tls(&cert, &key).unwrap());
    tokio::spawn(async move { server.serve(listener, std::future::pending()).await });

    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(&cert).unwrap()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider())).with_safe_default_protocol_versions().unwrap();
    let connector = TlsConnector::from(Arc::new(config.with_root_certificates(roots).with_no_client_auth()));
    let stream = TcpStream::connect(address).await.unwrap();
    let mut stream = connector.connect(ServerName::try_from("localhost").unwrap(), stream).await.unwrap();
    let port = address.port();
    let request = format!(
        "GET /api/graphs HTTP/1.1\r\nhost: localhost:{port}\r\nauthorization: Bearer {TOKEN}\r\norigin: https://localhost:{port}\r\nconnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("strict-transport-security: max-age="), "{answer}");

    // A client that does not greet is disconnected.
    let mut silent = TcpStream::connect(address).await.unwrap();
    let mut nothing = Vec::new();
    drop(tokio::time::timeout(Duration::from_secs(60), silent.read_to_end(&mut nothing)).await.unwrap());
    assert!(nothing.is_empty());
}
