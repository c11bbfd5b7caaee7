//! The page of the browser: the files that `studio/` builds, embedded as committed. It reads its data over the public routes.

use std::sync::LazyLock;

use axum::{
    Router,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse as _, Response},
    routing::get,
};

use crate::digest::digest;

/// A file of the page.
struct PageFile {
    path: &'static str,
    kind: &'static str,
    bytes: &'static [u8],
}

static FILES: [PageFile; 4] = [
    PageFile { path: "/", kind: "text/html; charset=utf-8", bytes: include_bytes!("../../studio/dist/index.html") },
    PageFile { path: "/studio.js", kind: "text/javascript; charset=utf-8", bytes: include_bytes!("../../studio/dist/studio.js") },
    PageFile { path: "/studio.css", kind: "text/css; charset=utf-8", bytes: include_bytes!("../../studio/dist/studio.css") },
    PageFile { path: "/icon.svg", kind: "image/svg+xml", bytes: include_bytes!("../../studio/dist/icon.svg") },
];

/// The tag of all files: they belong together.
static TAG: LazyLock<String> = LazyLock::new(|| format!("\"{}\"", digest(&FILES.each_ref().map(|file| file.bytes))));

/// Returns whether a route is one of the page, which needs no token: it is the same for everybody, and asks for the token itself.
pub(crate) fn is_page(path: &str) -> bool {
    FILES.iter().any(|file| file.path == path)
}

/// The router with the files of the page besides.
pub(super) fn add<S: Clone + Send + Sync + 'static>(router: Router<S>) -> Router<S> {
    FILES.iter().fold(router, |router, file| router.route(file.path, get(async move |headers: HeaderMap| answer(file, &headers))))
}

fn answer(file: &'static PageFile, headers: &HeaderMap) -> Response {
    let fixed = [(header::CONTENT_TYPE, file.kind), (header::CACHE_CONTROL, "no-cache"), (header::ETAG, &**TAG)];
    if headers.get(header::IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == TAG.as_bytes()) {
        return (StatusCode::NOT_MODIFIED, fixed).into_response();
    }
    (fixed, file.bytes).into_response()
}
