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
        ("conversation.lua", include_str!("../../plugins/offline/conversation.lua")),
        ("kit.lua", include_str!("../../plugins/offline/kit.lua")),
        ("path.lua", include_str!("../../plugins/offline/path.lua")),
        ("phrase.lua", include_str!("../../plugins/offline/phrase.lua")),
        ("rules.lua", include_str!("../../plugins/offline/rules.lua")),
        ("work.lua", include_str!("../../plugins/offline/work.lua")),
        ("tasks/change.lua", include_str!("../../plugins/offline/tasks/change.lua")),
        ("tasks/help.lua", include_str!("../../plugins/offline/tasks/help.lua")),
        ("tasks/look.lua", include_str!("../../plugins/offline/tasks/look.lua")),
        ("tasks/overview.lua", include_str!("../../plugins/offline/tasks/overview.lua")),
        ("tasks/run.lua", include_str!("../../plugins/offline/tasks/run.lua")),
        ("tasks/search.lua", include_str!("../../plugins/offline/tasks/search.lua")),
        ("tasks/show.lua", include_str!("../../plugins/offline/tasks/show.lua")),
        ("tasks/todo.lua", include_str!("../../plugins/offline/tasks/todo.lua")),
    ],
)];
