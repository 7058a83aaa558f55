//! What handlers do to a session, with everything real but the model.

mod answer;
mod calls;
mod commit;
mod endings;
mod guards;
mod order;
mod records;
mod request;
mod step;
