//! `trimbench trace generate`: generates a trace.

use trimbench_app::Failure;
use trimbench_core::exit;
use trimbench_core::rng::Rng;
use trimbench_engine::MethodDefinition as _;
use trimbench_methods::replay::Replay;
use trimbench_trace::TraceSource;
use trimbench_trace::generate::{Master, MasterConfig, Mix, MixConfig, SPACE_MIN};

use super::output::{account, write};
use crate::args::trace::GenerateArgs;

/// Makes and writes it. What was begun is removed on any error, and after Ctrl-C.
pub(super) fn generate(args: &GenerateArgs) -> Result<u8, Failure> {
    // As `replay` makes it with this seed.
    let rng = Rng::new(args.seed).split(Replay::INFO.id).split("trace");
    let mut source: Box<dyn TraceSource> = match args.commands {
        None => master(args, rng)?,
        Some(commands) => Box::new(Mix::new(mix(args, commands), rng).map_err(Failure::usage)?),
    };
    let written = write(&mut *source, &args.output, &[], false, |_| Ok(()))?;
    account(&args.output, "made", written);
    Ok(exit::DONE)
}

fn master(args: &GenerateArgs, rng: Rng) -> Result<Box<dyn TraceSource>, Failure> {
    let GenerateArgs { capacity, length, .. } = *args;
    let wrong = |text: String| Err(Failure::usage(anyhow::anyhow!(text)));
    if capacity < SPACE_MIN {
        return wrong(format!("`--capacity {capacity}` is too small; give at least {SPACE_MIN}"));
    }
    if !(10_000..=1_000_000).contains(&length.0) {
        return wrong(format!("`--length {length}` is out of range; give 1% to 100%"));
    }
    Ok(Box::new(Master::new(MasterConfig { capacity, length }, rng)))
}

fn mix(args: &GenerateArgs, commands: u64) -> MixConfig {
    let of = &args.mix;
    MixConfig {
        capacity: args.capacity,
        commands,
        reads: of.reads,
        discards: of.trims,
        flushes: of.flushes,
        size: of.size,
        sequential: of.sequential,
        gap: of.gap,
    }
}
