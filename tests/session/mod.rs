//! Theme: session files, the commit gate, the verbs on them, and the moments of a turn.

mod damage;
mod desk;
mod full;
mod gate;
mod kill;
mod lock;
mod moments;
mod prune;
mod random;
mod rebuild;
mod repair;
mod undo;
mod verbs;
