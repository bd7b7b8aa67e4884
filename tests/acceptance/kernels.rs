//! Claims about discards as real systems issue them: the modelled filesystems and block layer
//! against the running kernel, the modelled pool in the manners of `OpenZFS` and FreeBSD, and the
//! table of all systems.

pub(super) mod fsync;
pub(super) mod requests;
pub(super) mod s0;
pub(super) mod shapes;
pub(super) mod systems;
pub(super) mod zfs;
