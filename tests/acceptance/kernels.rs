//! Claims about discards as real systems issue them: the modelled pool in the manners of `OpenZFS`
//! and FreeBSD.

pub(super) mod zfs;
