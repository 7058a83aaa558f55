//! What every theme shares.

pub mod gate;
