//! Fuzzing: saved inputs that are changed at random, with proptest. A failure is reduced to the changes that it needs,
//! and its seed is appended to a file of regressions, which is tried first from then on.

use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{
    Config, FileFailurePersistence, RngAlgorithm, TestCaseError, TestCaseResult, TestRng, TestRunner,
};

use super::long_runs::{first_seed, repetitions};

/// A change of an input.
#[derive(Debug, Clone)]
enum Edit {
    Replace(Index, u8),
    Flip(Index, u8),
    Insert(Index, u8),
    Remove(Index, usize),
    /// Repeats a piece of this length.
    Repeat(Index, usize, usize),
    Cut(Index),
    /// Replaces the end with that of another saved input.
    Join(Index, Index),
}

fn edit() -> impl Strategy<Value = Edit> {
    let byte = || {
        prop_oneof![
            4 => proptest::sample::select(b"{}[]()\",:;\\0189-+.eE \t\r\n\0%&=?/@#*_~'<>\x7f\xc3\xa4\xff".to_vec()),
            1 => any::<u8>(),
        ]
    };
    prop_oneof![
        3 => (any::<Index>(), byte()).prop_map(|(at, byte)| Edit::Replace(at, byte)),
        2 => (any::<Index>(), 0..8_u8).prop_map(|(at, bit)| Edit::Flip(at, bit)),
        3 => (any::<Index>(), byte()).prop_map(|(at, byte)| Edit::Insert(at, byte)),
        2 => (any::<Index>(), 1..8_usize).prop_map(|(at, length)| Edit::Remove(at, length)),
        1 => (any::<Index>(), 1..12_usize, 1..60_usize).prop_map(|(at, length, times)| Edit::Repeat(at, length, times)),
        1 => any::<Index>().prop_map(Edit::Cut),
        1 => (any::<Index>(), any::<Index>()).prop_map(|(at, other)| Edit::Join(at, other)),
    ]
}

impl Edit {
    fn apply(&self, input: &mut Vec<u8>, corpus: &[Vec<u8>]) {
        let at = |index: &Index| index.index(input.len() + 1);
        match self {
            Self::Replace(index, byte) => {
                let at = at(index);
                input.splice(at..(at + 1).min(input.len()), [*byte]);
            }
            Self::Flip(index, bit) => {
                let at = at(index);
                if let Some(byte) = input.get_mut(at) {
                    *byte ^= 1 << bit;
                }
            }
            Self::Insert(index, byte) => {
                let at = at(index);
                input.insert(at, *byte);
            }
            Self::Remove(index, length) => {
                let at = at(index);
                input.drain(at..(at + length).min(input.len()));
            }
            Self::Repeat(index, length, times) => {
                let at = at(index);
                let piece = input[at..(at + length).min(input.len())].repeat(*times);
                input.splice(at..at, piece);
            }
            Self::Cut(index) => {
                let at = at(index);
                input.truncate(at);
            }
            Self::Join(index, other) => {
                let at = at(index);
                input.truncate(at);
                let other = other.get(corpus);
                input.extend_from_slice(&other[at.min(other.len())..]);
            }
        }
    }
}

/// Reads saved inputs: one a line, in which `\r`, `\n` and `\\` stand for these characters.
pub fn corpus(lines: &str) -> Vec<Vec<u8>> {
    let unescaped = |line: &str| {
        line.split("\\\\").map(|part| part.replace("\\r", "\r").replace("\\n", "\n")).collect::<Vec<_>>().join("\\")
    };
    lines.lines().map(|line| unescaped(line).into_bytes()).collect()
}

/// Tries changed inputs. `try_input` returns what is wrong with the result for one. The number of inputs is that of
/// `TICKETING_FUZZ_INPUTS`, or `default`.
pub fn fuzz(
    corpus: &[Vec<u8>],
    regressions: &'static str,
    default: u64,
    mut try_input: impl FnMut(&[u8]) -> Result<(), String>,
) {
    let config = Config {
        cases: u32::try_from(repetitions("TICKETING_FUZZ_INPUTS", default)).unwrap(),
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(regressions))),
        ..Config::default()
    };
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&first_seed().to_le_bytes());
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &seed));
    let strategy = (any::<Index>(), proptest::collection::vec(edit(), 0..5));
    let cell = std::cell::RefCell::new(&mut try_input);
    let tried = runner.run(&strategy, |(first, edits)| -> TestCaseResult {
        let mut input = first.get(corpus).clone();
        edits.iter().for_each(|edit| edit.apply(&mut input, corpus));
        let tried = (cell.borrow_mut())(&input);
        tried.map_err(|wrong| TestCaseError::fail(format!("{wrong}: {:?}", String::from_utf8_lossy(&input))))
    });
    if let Err(failure) = tried {
        panic!("TICKETING_TEST_SEED={}: {failure}", first_seed());
    }
}
