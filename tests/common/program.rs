//! The program `ticketing` as a process of its own. Every wait has a timeout.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// How long to wait for something that usually happens at once: the machine may be busy.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The command that runs the server in `folder`, without the environment variables that it would read.
pub fn program(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ticketing"));
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("TICKETING_")) {
        command.env_remove(name);
    }
    command.current_dir(folder).args(arguments).stdin(Stdio::null());
    command
}

/// Runs a program that ends by itself, and returns its output.
pub fn finish(command: &mut Command) -> Output {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut output = child.stdout.take().unwrap();
    let mut errors = child.stderr.take().unwrap();
    let status = wait_for_exit(&mut child).unwrap_or_else(|| {
        child.kill().unwrap();
        panic!("{command:?} did not end");
    });
    let mut stdout = Vec::new();
    let mut stderr = Vec::new();
    output.read_to_end(&mut stdout).unwrap();
    errors.read_to_end(&mut stderr).unwrap();
    Output { status, stdout, stderr }
}

fn wait_for_exit(child: &mut Child) -> Option<ExitStatus> {
    let pause = Duration::from_millis(10);
    (0..TIMEOUT.as_millis() / pause.as_millis()).find_map(|_| {
        let ended = child.try_wait().unwrap();
        if ended.is_none() {
            std::thread::sleep(pause);
        }
        ended
    })
}

/// A running server. It is killed when it is dropped.
pub struct Server {
    child: Child,
    output: Receiver<String>,
    /// The lines that it printed when it started.
    pub lines: Vec<String>,
}

impl Server {
    /// Starts a server on a free port in `folder` and waits until it listens.
    pub fn start(folder: &Path, arguments: &[&str]) -> Self {
        Self::start_program(program(folder, &["--listen", "127.0.0.1:0"]).args(arguments))
    }

    pub fn start_program(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let (send, output) = channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || stdout.lines().map_while(Result::ok).try_for_each(|line| send.send(line)));
        let mut server = Self { child, output, lines: Vec::new() };
        while !server.lines.last().is_some_and(|line| line.starts_with("curl")) {
            server.lines.push(server.output.recv_timeout(TIMEOUT).expect("the server prints its address"));
        }
        server
    }

    /// Returns what follows `label` in one of these lines.
    pub fn printed(&self, label: &str) -> Option<&str> {
        self.lines.iter().find_map(|line| line.strip_prefix(label))
    }

    pub fn key(&self) -> &str {
        self.printed("API key: ").expect("a first start prints a key")
    }

    /// The id of its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its address and port.
    pub fn address(&self) -> &str {
        self.printed("Listening on http://").unwrap()
    }

    /// Sends a GET request. Returns the status and the whole text of the response.
    pub fn get(&self, path: &str, key: &str) -> (u16, String) {
        self.send("GET", path, key, "")
    }

    /// Sends a request with a JSON body. Returns the status and the whole text of the response.
    pub fn send(&self, method: &str, path: &str, key: &str, body: &str) -> (u16, String) {
        self.send_with(method, path, key, "", body)
    }

    /// The same with further header lines, each with its line end.
    pub fn send_with(&self, method: &str, path: &str, key: &str, lines: &str, body: &str) -> (u16, String) {
        let mut connection = TcpStream::connect(self.address()).unwrap();
        connection.set_read_timeout(Some(TIMEOUT)).unwrap();
        let head = format!("{method} {path} HTTP/1.1\r\nHost: {}\r\nX-Api-Key: {key}\r\n{lines}", self.address());
        let length = format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len());
        connection.write_all(format!("{head}{length}Connection: close\r\n\r\n{body}").as_bytes()).unwrap();
        let mut response = String::new();
        connection.read_to_string(&mut response).unwrap();
        (response.split(' ').nth(1).unwrap().parse().unwrap(), response)
    }

    /// Sends a request like [`send`](Self::send). Returns `None` if the server has ended or does not respond.
    pub fn try_send(&self, method: &str, path: &str, key: &str, body: &str) -> Option<(u16, String)> {
        try_send_to(self.address(), method, path, key, body)
    }

    /// Waits until it ends by itself.
    pub fn wait(mut self) -> ExitStatus {
        wait_for_exit(&mut self.child).expect("the server ends")
    }

    /// Sends a signal, as `kill -TERM` does, and waits for the end. Returns the exit status and the last lines printed.
    pub fn stop(mut self, signal: &str) -> (ExitStatus, Vec<String>) {
        let kill = Command::new("kill").args([&format!("-{signal}"), &self.child.id().to_string()]).status().unwrap();
        assert!(kill.success());
        let status = wait_for_exit(&mut self.child).expect("the server ends after the signal");
        (status, self.output.iter().collect())
    }
}

/// Sends a request like [`Server::try_send`], from any thread, to the server at an address.
pub fn try_send_to(address: &str, method: &str, path: &str, key: &str, body: &str) -> Option<(u16, String)> {
    let mut connection = TcpStream::connect(address).ok()?;
    connection.set_read_timeout(Some(TIMEOUT)).ok()?;
    let head = format!("{method} {path} HTTP/1.1\r\nHost: {address}\r\nX-Api-Key: {key}\r\n");
    let length = format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len());
    connection.write_all(format!("{head}{length}Connection: close\r\n\r\n{body}").as_bytes()).ok()?;
    let mut response = String::new();
    connection.read_to_string(&mut response).ok()?;
    Some((response.split(' ').nth(1)?.parse().ok()?, response))
}

impl Drop for Server {
    fn drop(&mut self) {
        // Fails if the process has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether curl is installed.
pub fn has_curl() -> bool {
    Command::new("curl").arg("--version").output().is_ok_and(|output| output.status.success())
}

pub fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}
