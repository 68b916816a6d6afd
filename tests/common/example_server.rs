//! The example server as a process of its own, and what a person does with it. Every wait has an end.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// How long anything may take that should take a moment: the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(60);

/// The example server of the profile that is tested, up to date: where cargo is asked for one test alone, it does not
/// build the examples.
fn example_server() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        // The tests are in `deps`, beside `examples`.
        let test = std::env::current_exe().unwrap();
        let folder = test.ancestors().nth(2).unwrap();
        let profile = folder.file_name().unwrap().to_str().unwrap();
        let profile = if profile == "debug" { "dev" } else { profile };
        let mut build = Command::new(env!("CARGO"));
        build.args(["build", "--quiet", "--all-features", "--example", "server", "--profile", profile]);
        assert!(
            build.current_dir(env!("CARGO_MANIFEST_DIR")).status().unwrap().success(),
            "the example does not build"
        );
        folder.join("examples").join(format!("server{}", std::env::consts::EXE_SUFFIX))
    })
}

/// The program, to be run in `folder`, with nothing of ours in its environment.
pub(crate) fn program(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(example_server());
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("TICKETING_")) {
        command.env_remove(name);
    }
    command.current_dir(folder).args(arguments).stdin(Stdio::null());
    command
}

/// Runs a program that ends by itself.
pub(crate) fn finish(command: &mut Command) -> Output {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (mut output, mut errors) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let status = end_of(&mut child).unwrap_or_else(|| {
        child.kill().unwrap();
        panic!("{command:?} did not end");
    });
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    output.read_to_end(&mut stdout).unwrap();
    errors.read_to_end(&mut stderr).unwrap();
    Output { status, stdout, stderr }
}

fn end_of(child: &mut Child) -> Option<ExitStatus> {
    let pause = Duration::from_millis(10);
    (0..PATIENCE.as_millis() / pause.as_millis()).find_map(|_| {
        let ended = child.try_wait().unwrap();
        if ended.is_none() {
            std::thread::sleep(pause);
        }
        ended
    })
}

/// A server that runs until it is stopped, or the test ends.
pub(crate) struct ExampleServer {
    child: Child,
    output: Receiver<String>,
    /// What it said when it started.
    pub(crate) lines: Vec<String>,
}

impl ExampleServer {
    /// Starts a server on a free port in `folder` and waits until it listens.
    pub(crate) fn start(folder: &Path, arguments: &[&str]) -> Self {
        Self::start_program(program(folder, &["--listen", "127.0.0.1:0"]).args(arguments))
    }

    pub(crate) fn start_program(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let (send, output) = channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || stdout.lines().map_while(Result::ok).try_for_each(|line| send.send(line)));
        let mut server = Self { child, output, lines: Vec::new() };
        while !server.lines.last().is_some_and(|line| line.starts_with("curl")) {
            server.lines.push(server.output.recv_timeout(PATIENCE).expect("the server says where it listens"));
        }
        server
    }

    /// What follows `label` in one of its lines.
    pub(crate) fn said(&self, label: &str) -> Option<&str> {
        self.lines.iter().find_map(|line| line.strip_prefix(label))
    }

    pub(crate) fn key(&self) -> &str {
        self.said("API key: ").expect("a first start prints a key")
    }

    /// Its address and port.
    pub(crate) fn address(&self) -> &str {
        self.said("Listening on http://").and_then(|rest| rest.strip_suffix("/v1")).unwrap()
    }

    /// The status and the whole text of the answer to a GET.
    pub(crate) fn get(&self, path: &str, key: &str) -> (u16, String) {
        self.send("GET", path, key, "")
    }

    /// The status and the whole text of the answer to a request with a JSON body.
    pub(crate) fn send(&self, method: &str, path: &str, key: &str, body: &str) -> (u16, String) {
        self.send_with(method, path, key, "", body)
    }

    /// The same with further header lines, each with its end.
    pub(crate) fn send_with(&self, method: &str, path: &str, key: &str, lines: &str, body: &str) -> (u16, String) {
        let mut connection = TcpStream::connect(self.address()).unwrap();
        connection.set_read_timeout(Some(PATIENCE)).unwrap();
        let head = format!("{method} {path} HTTP/1.1\r\nHost: {}\r\nX-Api-Key: {key}\r\n{lines}", self.address());
        let length = format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len());
        connection.write_all(format!("{head}{length}Connection: close\r\n\r\n{body}").as_bytes()).unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).unwrap();
        (answer.split(' ').nth(1).unwrap().parse().unwrap(), answer)
    }

    /// Sends a signal, as `kill -TERM` does, and waits for the end. Answers with the status and what was said last.
    pub(crate) fn stop(mut self, signal: &str) -> (ExitStatus, Vec<String>) {
        let kill = Command::new("kill").args([&format!("-{signal}"), &self.child.id().to_string()]).status().unwrap();
        assert!(kill.success());
        let status = end_of(&mut self.child).expect("the server ends after the signal");
        (status, self.output.iter().collect())
    }
}

impl Drop for ExampleServer {
    fn drop(&mut self) {
        // Fails where it ended before, which is just as well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether there is a curl to paste commands to.
pub(crate) fn has_curl() -> bool {
    Command::new("curl").arg("--version").output().is_ok_and(|output| output.status.success())
}

pub(crate) fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}
