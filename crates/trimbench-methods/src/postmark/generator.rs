//! `PostMark`'s operations, one after the other: a pure state machine, without I/O.
//!
//! The files, their sizes and their order follow from the seed alone, draw for draw. Written from a
//! specification that was checked against the program (1.5, and Debian's 1.53). Source: \[PM97\].
//!
//! Units: sizes and lengths in bytes.

use trimbench_core::settings::{
    SettingError, ValueKind, Values, default_to, mapped, presets, within,
};
use trimbench_core::units::narrow;
use trimbench_core::{Bytes, settings};

use super::mersenne::Mersenne;

/// The most files at the beginning.
pub(super) const NUMBER_MAX: u32 = 1_000_000;
/// The largest size of a file and of a piece.
pub(super) const SIZE_MAX: Bytes = Bytes::mib(64);

settings! {
    /// What decides the operations.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Settings(values) {
        /// `set number`: files created at the beginning, {}
        pub number: u32 = "number", presets("5000", "50000", "50000"), within(1, NUMBER_MAX);
        /// `set transactions`: number of transactions, {}
        pub transactions: u32 = "transactions", presets("5000", "50000", "50000"),
            within(0, 10_000_000);
        /// `set size`: minimum size of a new file, 0B to `size-high`
        pub size_low: u32 = "size-low", presets("500B", "1000B", "1000B"), size_from(Bytes(0));
        /// `set size`: new files are smaller, and no file grows beyond it; {}
        pub size_high: u32 = "size-high", presets("40000B", "200000B", "200000B"),
            size_from(Bytes(1));
        /// `set seed`: seed of PostMark's own generator, {}; `--seed` does not change it
        pub seed: u32 = "seed", default_to("42"), within(0, u32::MAX);
        /// `set subdirectories`: number of subdirectories for the files; 0 and 1 are none, {}
        pub subdirectories: u32 = "subdirectories", default_to("0"), within(0, 10_000);
        /// `set bias read`: how many of 10 transactions read instead of append; -1: neither
        pub read_bias: Option<u32> = "bias-read", default_to("5"), bias();
        /// `set bias create`: how many of 10 transactions create instead of delete; -1: neither
        pub create_bias: Option<u32> = "bias-create", default_to("5"), bias();
    }
    check Settings::check;
}

impl Settings {
    fn check(&self, values: &Values) -> Result<(), SettingError> {
        let [low, high] = [self.size_low, self.size_high].map(|size| Bytes(size.into()));
        values.check_within("size-low", low, Bytes(0), high)
    }
}

/// A size that fits into 32 bits.
pub(super) fn size_from(low: Bytes) -> ValueKind<u32> {
    mapped(within(low, SIZE_MAX), |size| narrow(size.0))
}

/// 0 to 10; `None` for -1.
fn bias() -> ValueKind<Option<u32>> {
    mapped(within(-1_i32, 10), |bias| u32::try_from(bias).ok())
}

/// The three parts of a run, timed apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PostmarkPhase {
    /// The files are made.
    Creation,
    /// Transactions.
    Transactions,
    /// What is left is deleted.
    Deletion,
}

/// One operation on one file. A file is named by its number, counted from 1 in the order of
/// creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PostmarkOperation {
    /// A new file is written.
    Create {
        /// Its name.
        file: u32,
        /// Its subdirectory, counted from 0; `None` where there are none.
        subdirectory: Option<u32>,
        /// Its size.
        size: u32,
    },
    /// A file is read whole.
    Read {
        /// Which.
        file: u32,
        /// Its size.
        size: u32,
    },
    /// Bytes are written at the end of a file.
    Append {
        /// Which.
        file: u32,
        /// How many.
        length: u32,
    },
    /// A file is removed.
    Delete {
        /// Which.
        file: u32,
        /// Its size.
        size: u32,
    },
}

/// What was done.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    /// Files made.
    pub created: u32,
    /// Of these by transactions.
    pub created_in_transactions: u32,
    /// Files read.
    pub read: u32,
    /// Appends that wrote.
    pub appended: u32,
    /// Appends left out, because the file had its largest size.
    pub append_skipped: u32,
    /// Files removed by transactions.
    pub deleted_in_transactions: u32,
    /// Files removed after them.
    pub deleted_alone: u32,
    /// Transactions done; fewer than asked for if no file was left.
    pub transactions: u32,
    /// Bytes read.
    pub bytes_read: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// Bytes of the files that there are.
    pub live_bytes: u64,
    /// Bytes of the files that there were when the last phase began.
    pub live_bytes_at_deletion: u64,
    /// The same as `bytes_read`, summed as the program does, in single precision.
    pub single_read: f32,
    /// The same as `bytes_written`, summed as the program does, in single precision.
    pub single_written: f32,
}

/// A place in the table of files.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    /// 0 where there is no file.
    file: u32,
    size: u32,
}

/// Where the machine is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Creating,
    /// Before a transaction.
    Transaction,
    /// Within one: creating or deleting is still to come.
    SecondHalf,
    /// This slot is next.
    Deleting(usize),
}

/// The machine.
#[derive(Clone, Debug)]
pub struct Generator {
    settings: Settings,
    random: Mersenne,
    source: Vec<u8>,
    /// Twice as many as files at the beginning.
    table: Vec<Slot>,
    next_slot: usize,
    state: State,
    counts: Counts,
}

impl Generator {
    /// At the beginning of a run.
    pub fn new(settings: &Settings) -> Self {
        let mut random = Mersenne::new(settings.seed);
        let source = (0..2 * u64::from(settings.size_high))
            .map(|_| u8::try_from(32 + random.below(95)).expect("a printable character"))
            .collect();
        let slots = trimbench_core::units::index(2 * u64::from(settings.number));
        Self {
            settings: *settings,
            random,
            source,
            table: vec![Slot::default(); slots],
            next_slot: 0,
            state: State::Creating,
            counts: Counts::default(),
        }
    }

    /// What files are written from, each time from the beginning.
    pub fn source(&self) -> &[u8] {
        &self.source
    }

    /// What was done so far, the operation last given included.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Whether transactions ended early, because no file was left.
    pub fn ran_out_of_files(&self) -> bool {
        matches!(self.state, State::Deleting(_))
            && self.counts.transactions < self.settings.transactions
    }

    /// The next operation and the phase that it belongs to; `None` at the end.
    pub fn next_operation(&mut self) -> Option<(PostmarkPhase, PostmarkOperation)> {
        loop {
            match self.state {
                State::Creating if self.counts.created < self.settings.number => {
                    let created = self.create().expect("the table has room for twice as many");
                    return Some((PostmarkPhase::Creation, created));
                }
                State::Creating => self.state = State::Transaction,
                State::Transaction => {
                    if let Some(operation) = self.begin_transaction() {
                        return Some((PostmarkPhase::Transactions, operation));
                    }
                }
                State::SecondHalf => {
                    self.state = State::Transaction;
                    if let Some(operation) = self.second_half() {
                        return Some((PostmarkPhase::Transactions, operation));
                    }
                }
                State::Deleting(slot) => {
                    if slot == self.table.len() {
                        return None;
                    }
                    self.state = State::Deleting(slot + 1);
                    if self.table[slot].file > 0 {
                        self.counts.deleted_alone += 1;
                        return Some((PostmarkPhase::Deletion, self.delete(slot)));
                    }
                }
            }
        }
    }

    /// The first half of a transaction, or the end of them all.
    fn begin_transaction(&mut self) -> Option<PostmarkOperation> {
        let deleted = self.counts.deleted_in_transactions;
        if self.counts.transactions == self.settings.transactions || self.counts.created == deleted
        {
            self.counts.live_bytes_at_deletion = self.counts.live_bytes;
            self.state = State::Deleting(0);
            return None;
        }
        self.counts.transactions += 1;
        self.state = State::SecondHalf;
        // A half that is switched off draws nothing.
        let bias = self.settings.read_bias?;
        let reads = self.random.below(10) < bias;
        let slot = self.random_file();
        if reads { Some(self.read(slot)) } else { self.append(slot) }
    }

    fn second_half(&mut self) -> Option<PostmarkOperation> {
        let bias = self.settings.create_bias?;
        if self.random.below(10) < bias {
            let operation = self.create()?;
            self.counts.created_in_transactions += 1;
            return Some(operation);
        }
        let slot = self.random_file();
        self.counts.deleted_in_transactions += 1;
        Some(self.delete(slot))
    }

    /// `None` if the table is full.
    fn create(&mut self) -> Option<PostmarkOperation> {
        let is_empty = |slot: &Slot| slot.file == 0;
        let follows = self.table.get(self.next_slot).is_some_and(is_empty);
        let slot = if follows { self.next_slot } else { self.table.iter().position(is_empty)? };
        self.next_slot = slot + 1;
        let Settings { subdirectories, size_low, size_high, .. } = self.settings;
        let subdirectory = (subdirectories > 1).then(|| self.random.below(subdirectories));
        let size = size_low + self.random.below(size_high - size_low);
        self.counts.created += 1;
        let file = self.counts.created;
        self.table[slot] = Slot { file, size };
        self.wrote(size);
        Some(PostmarkOperation::Create { file, subdirectory, size })
    }

    fn read(&mut self, slot: usize) -> PostmarkOperation {
        let Slot { file, size } = self.table[slot];
        self.counts.read += 1;
        self.counts.bytes_read += u64::from(size);
        self.counts.single_read += size as f32;
        PostmarkOperation::Read { file, size }
    }

    /// `None` if the file has its largest size.
    fn append(&mut self, slot: usize) -> Option<PostmarkOperation> {
        let Slot { file, size } = self.table[slot];
        if size >= self.settings.size_high {
            self.counts.append_skipped += 1;
            return None;
        }
        let length = self.random.below(self.settings.size_high - size) + 1;
        self.table[slot].size += length;
        self.counts.appended += 1;
        self.wrote(length);
        Some(PostmarkOperation::Append { file, length })
    }

    fn delete(&mut self, slot: usize) -> PostmarkOperation {
        let Slot { file, size } = std::mem::take(&mut self.table[slot]);
        self.counts.live_bytes -= u64::from(size);
        PostmarkOperation::Delete { file, size }
    }

    fn wrote(&mut self, length: u32) {
        self.counts.bytes_written += u64::from(length);
        self.counts.single_written += length as f32;
        self.counts.live_bytes += u64::from(length);
    }

    /// A slot with a file. There is one: transactions end when there is none.
    fn random_file(&mut self) -> usize {
        let slots = 2 * self.settings.number;
        loop {
            let slot = trimbench_core::units::index(u64::from(self.random.below(slots)));
            if self.table[slot].file > 0 {
                return slot;
            }
        }
    }
}

/// What a run with these settings will do, and the room it takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Forecast {
    /// Everything done, at the end.
    pub counts: Counts,
    /// The most room that the files take at any time: their bytes, and 4 KiB for each, for its last
    /// block is rarely full.
    pub room: u64,
    /// Whether transactions will end early, because no file is left.
    pub runs_out_of_files: bool,
}

impl Forecast {
    /// Goes through a run without doing it.
    pub fn new(settings: &Settings) -> Self {
        const BLOCK: u64 = 4_096;
        let mut generator = Generator::new(settings);
        let (mut room, mut files) = (0, 0_u64);
        while let Some((_, operation)) = generator.next_operation() {
            match operation {
                PostmarkOperation::Create { .. } => files += 1,
                PostmarkOperation::Delete { .. } => files -= 1,
                PostmarkOperation::Read { .. } | PostmarkOperation::Append { .. } => {}
            }
            room = room.max(generator.counts.live_bytes + files * BLOCK);
        }
        let (counts, runs_out_of_files) = (*generator.counts(), generator.ran_out_of_files());
        Self { counts, room, runs_out_of_files }
    }
}
