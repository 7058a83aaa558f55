//! Counts what a thread's script holds. Rhai has no memory limit of its own, so its engine runs inside [`counted`] and
//! reads [`held`] at every step; since each VM has its own thread, one thread-local number is enough.
//!
//! Host memory must stay out of the count: it is often freed on another thread. Host functions and everything that
//! builds or drops values for the host run inside [`uncounted`]. Luau counts for itself and never switches this on.
#![expect(
    unsafe_code,
    reason = "a global allocator can only be written with unsafe; it forwards to the system's"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static COUNTING: Cell<bool> = const { Cell::new(false) };
    static HELD: Cell<isize> = const { Cell::new(0) };
}

/// Bytes allocated minus bytes freed by this thread while it counted.
pub(crate) fn held() -> isize {
    HELD.get()
}

/// Runs script code: what it allocates and frees is counted.
pub(crate) fn counted<T>(work: impl FnOnce() -> T) -> T {
    let _guard = Switch::to(true);
    work()
}

/// Runs host code in the middle of script code: what it allocates and frees is not counted.
pub(crate) fn uncounted<T>(work: impl FnOnce() -> T) -> T {
    let _guard = Switch::to(false);
    work()
}

/// Puts the switch back, after a panic too.
struct Switch(bool);

impl Switch {
    fn to(counting: bool) -> Self {
        Self(COUNTING.replace(counting))
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        COUNTING.set(self.0);
    }
}

struct Counter;

#[global_allocator]
static COUNTER: Counter = Counter;

fn add(bytes: isize) {
    // A thread may free memory after its thread-locals are gone; nobody asks for the number by then.
    let counting = COUNTING.try_with(Cell::get).unwrap_or(false);
    if counting {
        let _ = HELD.try_with(|held| held.set(held.get().wrapping_add(bytes)));
    }
}

// SAFETY: every method hands its arguments to the system allocator unchanged and returns its answer; the counting
// touches thread-locals only, which are constant-initialised, have no destructor and so never allocate.
unsafe impl GlobalAlloc for Counter {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size().cast_signed());
        // SAFETY: the caller keeps `alloc`'s contract.
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        add(layout.size().cast_signed());
        // SAFETY: the caller keeps `alloc_zeroed`'s contract.
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        add(-layout.size().cast_signed());
        // SAFETY: the pointer came from the system allocator with this layout, since all of ours do.
        unsafe { System.dealloc(pointer, layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        add(size.cast_signed() - layout.size().cast_signed());
        // SAFETY: as for `dealloc`, and the caller keeps `realloc`'s contract.
        unsafe { System.realloc(pointer, layout, size) }
    }
}
