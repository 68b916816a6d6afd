//! Runs a test of this test binary again in a process of its own, and talks to it over its standard input and output.
//!
//! The parent starts [`child_process`] for one test and a role. That test is ignored otherwise. It calls [`child_role`]
//! and does what the role says.

use std::fmt::Display;
use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

const ROLE: &str = "TICKETING_TEST_ROLE";

/// The command that runs `test` in a process of its own with this role. `test` is its path as `module_path!` has it.
pub fn child_process(test: &str, role: &str) -> Command {
    let (_crate, name) = test.split_once("::").expect("a path that begins with the crate");
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--include-ignored", "--exact", name, "--nocapture", "--test-threads=1"]).env(ROLE, role);
    command
}

/// Runs a test in a process of its own, because it is about the whole process: its log, its threads or its environment. `test` is
/// its path as `module_path!` has it.
pub fn alone(test: &str, body: impl FnOnce()) {
    alone_with(test, |_| {}, body);
}

/// As [`alone`], in a process that is prepared before. Returns whether this is the process that has started the other.
pub fn alone_with(test: &str, prepare: impl FnOnce(&mut Command), body: impl FnOnce()) -> bool {
    if std::env::var(ROLE).is_ok_and(|role| role == test) {
        body();
        return false;
    }
    let mut command = child_process(test, test);
    prepare(&mut command);
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("1 passed"), "{text}");
    true
}

/// The role of this process. Panics if no test has started it with [`child_process`].
pub fn child_role() -> String {
    // The test harness has printed the beginning of a line.
    println!();
    child_variable(ROLE)
}

/// A running child process. It is killed when it is dropped.
pub struct ChildProcess {
    pub child: Child,
    pub lines: Lines<BufReader<ChildStdout>>,
}

impl ChildProcess {
    pub fn start(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// Waits for the next message that it [`send_to_parent`]s. Returns `None` when it has ended.
    pub fn next_message(&mut self) -> Option<String> {
        next_message(&mut self.lines)
    }

    /// Sends it a line, for which it waits with [`wait_for_parent`].
    pub fn send(&mut self, line: &str) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    /// Waits until it ends.
    pub fn finish(mut self) -> EndedProcess {
        drop(self.child.stdin.take());
        let messages = std::iter::from_fn(|| self.next_message()).collect();
        EndedProcess { status: self.child.wait().unwrap(), messages }
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        // Fails if the process has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A child process that has ended.
pub struct EndedProcess {
    pub status: ExitStatus,
    /// The messages that were not read before.
    pub messages: Vec<String>,
}

/// Reads the next message of a child process. A line that is incomplete, because the process was killed, is ignored.
pub fn next_message(lines: &mut Lines<BufReader<ChildStdout>>) -> Option<String> {
    lines.map_while(Result::ok).find_map(|line| {
        let message = line.strip_prefix("> ")?.strip_suffix(" .")?;
        Some(message.to_owned())
    })
}

/// Sends a message to the parent of this process.
pub fn send_to_parent(message: impl Display) {
    println!("> {message} .");
}

/// Waits for a line from the parent. Returns an empty text if the parent sends nothing more.
pub fn wait_for_parent() -> String {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    line.trim().to_owned()
}

/// Starts all processes, waits until each has reported that it is ready, and sends each "go".
pub fn start_together(commands: impl IntoIterator<Item = Command>) -> Vec<ChildProcess> {
    let mut children: Vec<_> = commands.into_iter().map(ChildProcess::start).collect();
    for child in &mut children {
        assert_eq!(child.next_message().as_deref(), Some("ready"));
    }
    for child in &mut children {
        child.send("go");
    }
    children
}

/// An environment variable that the parent has set.
pub fn child_variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Runs a child process by another command, such as `unshare` or `sh`, and waits until it succeeds. Returns its
/// messages, or `None` if this machine does not have the command or does not allow it.
#[cfg(unix)]
pub fn run_child_by(wrapper: &[&str], test: &str, role: &str) -> Option<Vec<String>> {
    let mut probe = Command::new(wrapper[0]);
    if !probe.args(&wrapper[1..]).arg("true").output().is_ok_and(|output| output.status.success()) {
        return None;
    }
    let child = child_process(test, role);
    let mut command = Command::new(wrapper[0]);
    command.args(&wrapper[1..]).arg(child.get_program()).args(child.get_args());
    command.envs(child.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let ended = ChildProcess::start(command).finish();
    assert!(ended.status.success(), "{}", ended.status);
    Some(ended.messages)
}
