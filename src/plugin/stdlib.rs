//! Scripts in the binary: the standard library of both languages and the bundled plugins.

/// The Luau standard library: module name below `crystal.`, source.
pub const LUA: &[(&str, &str)] = &[("text", include_str!("../../stdlib/lua/text.lua"))];

/// The Rhai standard library: module name below `crystal/`, source.
pub const RHAI: &[(&str, &str)] = &[("text", include_str!("../../stdlib/rhai/text.rhai"))];

/// Bundled plugins: directory, files.
pub const PLUGINS: &[(&str, &[(&str, &str)])] = &[(
    "offline",
    &[
        ("plugin.toml", include_str!("../../plugins/offline/plugin.toml")),
        ("init.lua", include_str!("../../plugins/offline/init.lua")),
    ],
)];
