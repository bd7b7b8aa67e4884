//! Claims about named drives: what of their published figures the emulated ones reproduce.

pub(super) mod courses;
pub(super) mod latency;
pub(super) mod summary;
pub(super) mod trim;
pub(super) mod zones;
