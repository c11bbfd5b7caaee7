//! A wire between a store and its server that can be slow, cut, or played again.

use std::{
    io::{Read, Write},
    net::{Ipv4Addr, Shutdown, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use super::local;

/// The behaviour of the wire.
#[derive(Clone, Debug, Default)]
pub(crate) struct Weather {
    /// Answers come so much later.
    pub(crate) delay: Duration,
    /// Requests that hold these bytes reach the server, and then the connection is cut before the answer.
    pub(crate) cut_after: Option<Vec<u8>>,
    /// Requests that hold these bytes reach nobody: the connection is cut.
    pub(crate) cut_before: Option<Vec<u8>>,
    /// Requests that hold these bytes are sent twice.
    pub(crate) twice: Option<Vec<u8>>,
}

/// Carries bytes between a port of its own and a server.
#[derive(Debug)]
pub(crate) struct Proxy {
    port: u16,
    weather: Arc<Mutex<Weather>>,
    connections: Arc<AtomicUsize>,
    open: Arc<Mutex<Vec<TcpStream>>>,
}

impl Proxy {
    /// A clear wire to `server`. It ends with the process.
    pub(crate) fn to(server: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let proxy = Self { port, weather: Arc::default(), connections: Arc::default(), open: Arc::default() };
        let (weather, connections, open) = (Arc::clone(&proxy.weather), Arc::clone(&proxy.connections), Arc::clone(&proxy.open));
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                connections.fetch_add(1, Ordering::SeqCst);
                // If nobody listens, the client is disconnected.
                let Ok(server) = TcpStream::connect(local(server)) else { continue };
                let copies = [client.try_clone(), server.try_clone(), client.try_clone(), server.try_clone()];
                let [Ok(one), Ok(two), Ok(three), Ok(four)] = copies else { continue };
                open.lock().unwrap().extend([one, two]);
                let there = Arc::clone(&weather);
                thread::spawn(move || requests(client, four, &there));
                let back = Arc::clone(&weather);
                thread::spawn(move || answers(server, three, &back));
            }
        });
        proxy
    }

    /// Its port.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Changes what the wire does from now on.
    pub(crate) fn set(&self, weather: Weather) {
        *self.weather.lock().unwrap() = weather;
    }

    /// Cuts all connections.
    pub(crate) fn cut(&self) {
        for stream in self.open.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Returns the number of connections so far.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

fn requests(mut client: TcpStream, mut server: TcpStream, weather: &Mutex<Weather>) {
    let mut bytes = vec![0; 1 << 16];
    while let Ok(length @ 1..) = client.read(&mut bytes) {
        let part = &bytes[..length];
        let now = weather.lock().unwrap().clone();
        let holds = |what: &Option<Vec<u8>>| what.as_ref().is_some_and(|what| part.windows(what.len()).any(|window| window == what));
        if holds(&now.cut_before) {
            break;
        }
        if holds(&now.cut_after) {
            // The server has it, and hears that we are gone only when it has done it; before it can answer there is nobody to answer to.
            let _ = client.shutdown(Shutdown::Both);
            let _ = server.write_all(part);
            thread::sleep(Duration::from_millis(200));
            break;
        }
        if server.write_all(part).is_err() || (holds(&now.twice) && server.write_all(part).is_err()) {
            break;
        }
    }
    let _ = (client.shutdown(Shutdown::Both), server.shutdown(Shutdown::Both));
}

fn answers(mut server: TcpStream, mut client: TcpStream, weather: &Mutex<Weather>) {
    let mut bytes = vec![0; 1 << 16];
    while let Ok(length @ 1..) = server.read(&mut bytes) {
        let delay = weather.lock().unwrap().delay;
        thread::sleep(delay);
        if client.write_all(&bytes[..length]).is_err() {
            break;
        }
    }
    let _ = (client.shutdown(Shutdown::Both), server.shutdown(Shutdown::Both));
}
