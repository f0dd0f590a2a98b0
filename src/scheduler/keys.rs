//! Keys into the scheduler's tables. A key stays valid while its value does,
//! and orders nothing: another run may give out others.

macro_rules! key {
    ($($name:ident)*) => {$(
        #[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
        pub(super) struct $name(pub(super) usize);
    )*};
}

key! { TenantKey LaneKey ClassKey }
