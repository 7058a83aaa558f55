//! What every theme shares.
