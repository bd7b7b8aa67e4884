//! What space that is left free, and trimmed, buys: speed, write amplification, years.
//!
//! Space that holds nothing serves as over-provisioning. The twin is empty, a part of it is written
//! at random until it is steady, and the rest stays empty.

use std::collections::BTreeMap;

use serde::Serialize;
use trimbench_core::{Bytes, Ppm};
use trimbench_methods::METHODS;

use crate::error::FitError;
use crate::interval::{next_of, quantile};
use crate::observed::TwinSession;
use crate::twin::{Outside, SessionFigures, Twin, TwinPoint, settings_text};

/// Seeds of a profile that has no twins that might be the true one.
const SEEDS: usize = 5;
/// What is written at a time is a multiple of this.
const STEP: u64 = 1 << 20;
/// Tenths of what is used that are written before anything is measured: an empty drive with much
/// free space is as steady as it is fresh for a drive write or two.
const AGEING_ROUNDS: &str = "40";
/// Days of a year.
const DAYS: f64 = 365.25;

/// Endurance: what the flash bears, and what is written.
#[derive(Clone, Copy, Debug)]
pub struct Endurance {
    /// Cycles of programming and erasing.
    pub cycles: f64,
    /// Drive writes a day: the drive's capacity, whatever of it is used.
    pub drive_writes: f64,
}

/// A number with its interval of 95 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The mean of the logarithms, as a number.
    pub value: f64,
    /// The ends.
    pub interval: [f64; 2],
}

/// What a share of free, trimmed space comes to.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct FreeSpace {
    /// The share of the capacity, in percent.
    pub free_percent: f64,
    /// Steady random writes of 4 KiB a second.
    pub iops: Estimate,
    /// Write amplification.
    pub amplification: Estimate,
    /// Until the flash is worn out.
    pub years: Estimate,
}

/// What these shares of free space come to, on the drive `base` (as it follows `sim:`) or on each
/// of the twins that might be it, `drawn`. `set` are options of `steady-state`.
pub fn what_if(
    base: &str,
    drawn: &[Vec<(String, String)>],
    (shares, wear, set): (&[Ppm], Endurance, &BTreeMap<String, String>),
    (seed, outside): (u64, Outside<'_>),
) -> Result<Vec<FreeSpace>, FitError> {
    let plain = Twin::of_profile(&format!("{base},fill=none"))?;
    let sessions = shares.iter().map(|free| session(plain.capacity(), *free, set));
    let sessions: Vec<TwinSession> = sessions.collect::<Result<_, _>>()?;
    let seed_of = |number: usize| seed.wrapping_add(1_000_003 * (number as u64 + 1));
    let mut found: Vec<Vec<SessionFigures>> = Vec::new();
    let twins = if drawn.is_empty() { vec![Vec::new(); SEEDS] } else { drawn.to_vec() };
    for (number, settings) in twins.iter().enumerate() {
        let twin = Twin::of_profile(&format!("{base},fill=none{}", settings_text(settings)))?;
        let point = TwinPoint { coordinates: Vec::new(), seed: seed_of(number) };
        found.extend(twin.with_sessions(sessions.clone()).run(&[point], outside)?);
    }
    let physical = 1.0 + f64::from(plain.profile().config.over_provisioning.0) / 1e6;
    let of = |(number, free): (usize, &Ppm)| {
        let figure = |id: &str| estimate(&found, number, id);
        let amplification = figure("write-amplification")?;
        let days =
            |amplification: f64| wear.cycles * physical / (amplification * wear.drive_writes);
        let [low, high] = amplification.interval;
        Ok(FreeSpace {
            free_percent: f64::from(free.0) / 1e4,
            iops: figure("steady-iops")?,
            amplification,
            years: Estimate {
                value: days(amplification.value) / DAYS,
                interval: [days(high) / DAYS, days(low) / DAYS],
            },
        })
    };
    shares.iter().enumerate().map(of).collect()
}

/// Steady random writes into what is not free.
fn session(
    capacity: Bytes,
    free: Ppm,
    set: &BTreeMap<String, String>,
) -> Result<TwinSession, FitError> {
    let used = u128::from(capacity.0) * u128::from(1_000_000 - free.0.min(1_000_000)) / 1_000_000;
    let used = u64::try_from(used).unwrap_or(capacity.0) / STEP * STEP;
    let method = METHODS.iter().find(|method| method.id == "steady-state").expect("it is there");
    let own = [
        ("span", Bytes(used).to_string()),
        ("trimmed-shares", "0".to_owned()),
        ("ageing-rounds", AGEING_ROUNDS.to_owned()),
    ];
    let own = own.into_iter().map(|(key, value)| (key.to_owned(), value));
    let set: BTreeMap<String, String> = own.chain(set.clone()).collect();
    Ok(TwinSession::preset(method, &set)?)
}

fn estimate(found: &[Vec<SessionFigures>], number: usize, id: &str) -> Result<Estimate, FitError> {
    let mut logarithms = Vec::new();
    for sessions in found {
        let figures = sessions[number].as_ref();
        let figures = figures.map_err(|reason| FitError::NoTwin { reason: reason.to_string() })?;
        let value = figures.get(id).filter(|value| **value > 0.0);
        let value = value.ok_or_else(|| FitError::NoTwin { reason: format!("no {id}") })?;
        logarithms.push(value.ln());
    }
    let count = logarithms.len() as f64;
    let mean = logarithms.iter().sum::<f64>() / count;
    let squares: f64 = logarithms.iter().map(|it| (it - mean).powi(2)).sum();
    let deviation = (squares / (count - 1.0).max(1.0)).sqrt();
    let half = quantile(logarithms.len()) * deviation * next_of(logarithms.len());
    Ok(Estimate { value: mean.exp(), interval: [(mean - half).exp(), (mean + half).exp()] })
}
