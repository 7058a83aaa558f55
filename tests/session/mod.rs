//! Theme: session files, the commit gate, and the verbs on them.

mod damage;
mod desk;
mod full;
mod gate;
mod kill;
mod lock;
mod prune;
mod random;
mod rebuild;
mod repair;
mod undo;
mod verbs;
//! Theme: session.

mod moments;
