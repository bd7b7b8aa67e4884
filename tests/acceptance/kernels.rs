//! Claims about discards as real systems issue them: the modelled filesystems and block layer
//! against the running kernel, and the modelled pool in the manners of `OpenZFS` and FreeBSD.

pub(super) mod fsync;
pub(super) mod requests;
pub(super) mod s0;
pub(super) mod zfs;
