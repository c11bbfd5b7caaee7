//! Axum alone: an answer of so many bytes to every request.

use axum::{Router, body::Bytes, http::header, routing::post};
use tokio::net::TcpListener;

use crate::Outcome;

/// Serves until it is killed; the port is the first line that it prints.
pub(crate) async fn serve(length: usize) -> Outcome<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?.port());
    let answer = Bytes::from("x".repeat(length));
    let echo = async move |_: Bytes| ([(header::CONTENT_TYPE, "application/json")], answer.clone());
    axum::serve(listener, Router::new().route("/echo", post(echo)).route("/healthz", axum::routing::get(async || "alive\n"))).await?;
    Ok(())
}
