//! The requests of a block layer, as a tracer of the kernel would see them.
//!
//! A request comes when its first piece reaches the block layer. Of a sender that waits for the
//! throttle or for a tag, one piece is there; the others are still with the sender.

use trimbench_core::{BlockCommand, BlockRequest, Instant, Model, Operation as _, OperationKind};

use super::{BlockLayer, Pending, Sent};

/// The block layer has one device.
const DEVICE: u16 = 0;

impl Pending {
    fn kind(&self) -> OperationKind {
        match self {
            Self::Discard(_) => OperationKind::Discard,
            Self::Other(command, _) => command.kind(),
        }
    }
}

impl<O> Sent<O> {
    fn noted(&self, completed: Instant) -> BlockRequest {
        let Self { kind, entered, given, .. } = *self;
        BlockRequest { device: DEVICE, kind, entered, issued: given, completed }
    }
}

impl<M: Model<Command = BlockCommand>, O: Copy + PartialEq> BlockLayer<M, O> {
    /// Begins or ends to note requests; see [`trimbench_core::Storage::watch_requests`].
    pub fn watch_requests(&mut self, watch: bool) {
        self.noted = watch.then(Vec::new);
    }

    /// Appends the requests that ended since the last call, then those that the device has, then
    /// those that wait; nothing where they are not watched.
    pub fn take_requests(&mut self, out: &mut Vec<BlockRequest>) {
        let Some(noted) = &mut self.noted else { return };
        out.append(noted);
        out.extend(self.sent.iter().map(|sent| sent.noted(Instant::NEVER)));
        let waiting = |kind, entered| {
            let (issued, completed) = (Instant::NEVER, Instant::NEVER);
            BlockRequest { device: DEVICE, kind, entered, issued, completed }
        };
        let scheduled = self.waiting.iter();
        out.extend(scheduled.map(|request| waiting(request.what.kind(), request.entered)));
        for sender in self.throttled.iter().chain(&self.without_tag) {
            out.extend(sender.left.front().map(|next| waiting(next.kind(), sender.next_since)));
        }
    }

    pub(super) fn note_end(&mut self, sent: &Sent<O>, at: Instant) {
        if let Some(noted) = &mut self.noted {
            noted.push(sent.noted(at));
        }
    }
}
