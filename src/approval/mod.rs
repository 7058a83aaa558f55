//! Approval: how a call is judged before it runs, and what follows from that in each mode.
//!
//! [`classify`] reads a call (for `bash` through [`shell`], a strict reader of command lines), [`decide`] is the
//! mode table, [`grant`] what the operator allowed for longer than once, [`denial`] what the model is told.
//! What is judged here is words, not deeds: a program that is allowed to run can do what its user can. Nothing
//! in here confines a child process, and the documentation says so.

pub mod classify;
pub mod decide;
pub mod denial;
pub mod git;
pub mod grant;
pub mod judgement;
pub mod shell;
