//! The lines of the log on their way to standard error. A thread writes them, many at once: a system call for each request
//! would cost more than what the request reads.

use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use tracing::{Level, Metadata};
use tracing_subscriber::fmt::MakeWriter;

/// How long a line waits for others. Warnings and errors do not wait.
const WAIT: Duration = Duration::from_millis(100);

/// How many bytes wait at most, if standard error is slow. Further lines are dropped, so that requests are served.
const MOST: usize = 1024 * 1024;

/// Takes lines. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct LogLines(Arc<Shared>);

#[derive(Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Default)]
struct Waiting {
    lines: Vec<u8>,
    is_urgent: bool,
    is_closed: bool,
}

/// Writes the lines until it is dropped, and then those that still wait.
pub(crate) struct LogThread {
    lines: LogLines,
    thread: Option<JoinHandle<()>>,
}

/// Takes one line.
pub(crate) struct Line<'l> {
    lines: &'l LogLines,
    is_urgent: bool,
}

impl LogLines {
    /// Starts the thread that writes to `output`. What cannot be written is dropped.
    pub(crate) fn start(&self, output: impl Write + Send + 'static) -> io::Result<LogThread> {
        let lines = self.clone();
        let thread = std::thread::Builder::new().name("ticketing-log".to_owned()).spawn(move || lines.write(output))?;
        Ok(LogThread { lines: self.clone(), thread: Some(thread) })
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, mut output: impl Write) {
        let mut lines = Vec::new();
        loop {
            let waiting = self.waiting();
            let has_none = |waiting: &mut Waiting| waiting.lines.is_empty() && !waiting.is_closed;
            let waiting = self.0.changed.wait_while(waiting, has_none).unwrap_or_else(PoisonError::into_inner);
            let may_wait = |waiting: &mut Waiting| !waiting.is_urgent && !waiting.is_closed;
            let waited = self.0.changed.wait_timeout_while(waiting, WAIT, may_wait);
            let (mut waiting, _) = waited.unwrap_or_else(PoisonError::into_inner);
            std::mem::swap(&mut lines, &mut waiting.lines);
            waiting.is_urgent = false;
            let is_closed = waiting.is_closed;
            drop(waiting);
            let _ = output.write_all(&lines).and_then(|()| output.flush());
            lines.clear();
            if is_closed {
                return;
            }
        }
    }
}

impl Write for Line<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut waiting = self.lines.waiting();
        let was_empty = waiting.lines.is_empty();
        if waiting.lines.len() + bytes.len() <= MOST {
            waiting.lines.extend_from_slice(bytes);
        }
        waiting.is_urgent |= self.is_urgent || waiting.lines.len() > MOST / 2;
        let wakes = was_empty || waiting.is_urgent;
        drop(waiting);
        if wakes {
            self.lines.0.changed.notify_one();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'l> MakeWriter<'l> for LogLines {
    type Writer = Line<'l>;

    fn make_writer(&'l self) -> Line<'l> {
        Line { lines: self, is_urgent: true }
    }

    fn make_writer_for(&'l self, metadata: &Metadata<'_>) -> Line<'l> {
        Line { lines: self, is_urgent: *metadata.level() <= Level::WARN }
    }
}

impl Drop for LogThread {
    fn drop(&mut self) {
        self.lines.waiting().is_closed = true;
        self.lines.0.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been reported.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    /// Sends what is written. Each write waits for `go`.
    struct Output {
        written: Sender<String>,
        go: Receiver<()>,
    }

    impl Write for Output {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ = self.go.recv();
            let _ = self.written.send(String::from_utf8_lossy(bytes).into_owned());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn start() -> (LogLines, LogThread, Receiver<String>, Sender<()>) {
        let (written, received) = channel();
        let (go, may_go) = channel();
        let lines = LogLines::default();
        let thread = lines.start(Output { written, go: may_go }).unwrap();
        (lines, thread, received, go)
    }

    fn log(lines: &LogLines, is_urgent: bool, line: &str) {
        Line { lines, is_urgent }.write_all(line.as_bytes()).unwrap();
    }

    /// Logs a line, and waits until it is being written.
    fn begin(lines: &LogLines) {
        log(lines, true, "0\n");
        while !lines.waiting().lines.is_empty() {
            std::thread::yield_now();
        }
    }

    #[test]
    fn lines_are_written_in_their_order_and_many_at_once() {
        let (lines, thread, received, go) = start();
        begin(&lines);
        for (line, is_urgent) in [("1\n", false), ("2\n", true), ("3\n", false)] {
            log(&lines, is_urgent, line);
        }
        drop(go);
        drop(thread);
        assert_eq!(received.iter().collect::<Vec<_>>(), ["0\n", "1\n2\n3\n"]);
    }

    #[test]
    fn a_line_is_written_soon_although_no_other_follows() {
        let (lines, thread, received, go) = start();
        drop(go);
        log(&lines, false, "alone\n");
        assert_eq!(received.recv().unwrap(), "alone\n");
        drop(thread);
    }

    #[test]
    fn while_standard_error_takes_nothing_a_mebibyte_waits_and_the_rest_is_dropped() {
        let (lines, thread, received, go) = start();
        begin(&lines);
        let line = format!("{}\n", "x".repeat(1023));
        for _ in 0..2000 {
            log(&lines, false, &line);
        }
        drop(go);
        drop(thread);
        let written: Vec<String> = received.iter().collect();
        assert_eq!(written.iter().map(String::len).collect::<Vec<_>>(), [2, 1024 * 1024]);
    }
}
