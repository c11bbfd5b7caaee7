//! Proxies that the environment names (language 9.12): no request goes through one.

use std::process::Command;

use super::{call, servers::RawServer, value};

/// Says to a process of these tests that its environment names a proxy.
const PROXIED: &str = "TRELLIS_TEST_PROXIED";

/// A program that asks an address as others do: through a proxy, if the environment names one.
const FETCH: &str = "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1]).read().decode())";

#[tokio::test]
async fn a_proxy_of_the_environment_sees_no_request() {
    let here = RawServer::answering("200 OK", "content-type: text/plain", "directly");
    if std::env::var_os(PROXIED).is_some() {
        let got = value(call(&format!("{{ get: \"{}/a\" }}", here.url), "", "{}").await);
        assert_eq!((got.as_str(), here.requests().len()), (Some("directly"), 1));
        return;
    }
    let proxy = RawServer::answering("200 OK", "content-type: text/plain", "through a proxy");
    let variables = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"].map(|name| (name, &proxy.url));
    let proxied = |program: &std::ffi::OsStr, args: &[&str]| {
        let mut command = Command::new(program);
        command.args(args).envs(variables).env_remove("NO_PROXY").env_remove("no_proxy").env(PROXIED, "1").output().unwrap()
    };
    // Whoever heeds these variables ends up at the proxy.
    let heeds = proxied("python3".as_ref(), &["-c", FETCH, &here.url]);
    assert_eq!(String::from_utf8_lossy(&heeds.stdout).trim(), "through a proxy", "{heeds:?}");
    assert_eq!((proxy.requests().len(), here.requests().len()), (1, 0));

    let test = format!("{}::a_proxy_of_the_environment_sees_no_request", module_path!().split_once("::").unwrap().1);
    let this = std::env::current_exe().unwrap();
    let played = proxied(this.as_os_str(), &[&test, "--exact", "--test-threads=1"]);
    let said = String::from_utf8_lossy(&played.stdout);
    assert!(played.status.success() && said.contains("1 passed"), "{said}");
    assert_eq!(proxy.requests().len(), 1, "{:?}", proxy.requests());
}
