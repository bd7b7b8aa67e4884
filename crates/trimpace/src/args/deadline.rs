//! When a pass is to be done: a time of day, or after a duration.

use std::str::FromStr;

use jiff::Zoned;
use jiff::civil::Time;
use trimbench_core::Nanos;

/// As the user states it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassDeadline {
    /// The next time that local clocks show this.
    Clock {
        /// In [0, 23].
        hour: i8,
        /// In [0, 59].
        minute: i8,
    },
    /// This long after the start.
    After(Nanos),
}

/// A text that is neither.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is neither a time of day, as `06:00`, nor a duration, as `2h`")]
pub struct PassDeadlineError {
    /// As given.
    pub text: String,
}

impl PassDeadline {
    /// How long it is until then from `now`, which has the local time zone: more than nothing for a
    /// time of day, at most a day and the change of the clocks. Where the clocks skip that time, it
    /// is the time as it would have been without the change; where they show it twice, the first.
    pub fn remaining(self, now: &Zoned) -> Nanos {
        let (hour, minute) = match self {
            Self::After(time) => return time,
            Self::Clock { hour, minute } => (hour, minute),
        };
        let time = Time::constant(hour, minute, 0, 0);
        let mut date = now.date();
        // Today, tomorrow, or the day after if the clocks skip a whole day.
        for _ in 0..3 {
            if let Ok(then) = date.to_datetime(time).to_zoned(now.time_zone().clone()) {
                let left = then.timestamp().as_nanosecond() - now.timestamp().as_nanosecond();
                if left > 0 {
                    return Nanos(u64::try_from(left).unwrap_or(u64::MAX));
                }
            }
            let Ok(next) = date.tomorrow() else { break };
            date = next;
        }
        // The calendar ends.
        Nanos::from_secs(24 * 3_600)
    }
}

impl FromStr for PassDeadline {
    type Err = PassDeadlineError;

    fn from_str(text: &str) -> Result<Self, PassDeadlineError> {
        let error = || PassDeadlineError { text: text.to_owned() };
        let Some((hour, minute)) = text.split_once(':') else {
            return text.parse().map(Self::After).map_err(|_| error());
        };
        let number = |digits: &str, below: i8| {
            let is_plain = (1..=2).contains(&digits.len());
            let is_number = is_plain && digits.bytes().all(|byte| byte.is_ascii_digit());
            digits.parse::<i8>().ok().filter(|number| is_number && *number < below)
        };
        let minute = Some(minute).filter(|digits| digits.len() == 2);
        let minute = minute.and_then(|digits| number(digits, 60)).ok_or_else(error)?;
        Ok(Self::Clock { hour: number(hour, 24).ok_or_else(error)?, minute })
    }
}
