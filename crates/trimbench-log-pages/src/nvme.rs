//! Pages of the NVMe specification.

pub mod smart;
