//! Programs that reach beyond the workspace's files: other users, the machine, other machines.

use crate::approval::shell::expand::Arg;
use crate::approval::shell::path::Access;
use crate::approval::shell::program::Call;
use crate::approval::shell::verdict::Verdict;
use crate::model::judgement::{Authority, Risk};

pub(super) const ESCALATION: &[&str] = &[
    "sudo", "doas", "su", "pkexec", "runuser", "sudoedit", "visudo", "gosu", "su-exec", "run0", "setpriv",
    "chroot", "unshare", "nsenter", "setcap",
];

/// Programs that destroy file systems.
pub(super) const RUINOUS: &[&str] = &[
    "mkfs",
    "mke2fs",
    "mkswap",
    "wipefs",
    "fdisk",
    "sfdisk",
    "gdisk",
    "parted",
    "diskutil",
    "blkdiscard",
    "cryptsetup",
    "hdparm",
    "badblocks",
];

pub(super) const ADMINISTRATION: &[&str] = &[
    "mount",
    "umount",
    "shutdown",
    "reboot",
    "halt",
    "poweroff",
    "init",
    "telinit",
    "systemctl",
    "service",
    "launchctl",
    "insmod",
    "modprobe",
    "rmmod",
    "kextload",
    "useradd",
    "userdel",
    "usermod",
    "groupadd",
    "groupdel",
    "passwd",
    "chpasswd",
    "chsh",
    "chfn",
    "crontab",
    "at",
    "batch",
    "iptables",
    "ip6tables",
    "nft",
    "ufw",
    "firewall-cmd",
    "sysctl",
    "swapoff",
    "swapon",
    "losetup",
    "chattr",
    "setfacl",
    "defaults",
    "scutil",
    "csrutil",
    "spctl",
    "security",
    "dscl",
    "loginctl",
    "hostnamectl",
    "timedatectl",
    "update-alternatives",
    "ldconfig",
    "dpkg",
    "rpm",
    "gpg",
    "ssh-add",
    "ssh-keygen",
    "ssh-agent",
    "loadkeys",
    "strace",
    "gdb",
    "lldb",
    "script",
    "screen",
    "tmux",
    "parallel",
    "watch",
];

/// Programs that talk to other machines.
pub(super) const NETWORK: &[&str] = &[
    "curl",
    "wget",
    "http",
    "https",
    "xh",
    "aria2c",
    "ftp",
    "tftp",
    "lftp",
    "telnet",
    "nc",
    "ncat",
    "netcat",
    "socat",
    "openssl",
    "gh",
    "glab",
    "hub",
    "docker",
    "podman",
    "nerdctl",
    "kubectl",
    "helm",
    "terraform",
    "tofu",
    "ansible",
    "ansible-playbook",
    "aws",
    "gcloud",
    "gsutil",
    "az",
    "doctl",
    "flyctl",
    "fly",
    "heroku",
    "vercel",
    "netlify",
    "wrangler",
    "rclone",
    "s3cmd",
    "psql",
    "mysql",
    "mongo",
    "mongosh",
    "redis-cli",
    "ping",
    "ping6",
    "traceroute",
    "dig",
    "nslookup",
    "host",
    "whois",
    "mail",
    "sendmail",
    "rcp",
    "svn",
    "hg",
    "bzr",
    "nmap",
    "w3m",
    "lynx",
    "links",
    "open",
    "xdg-open",
];

/// Programs that run commands or move files on another machine.
pub(super) const REMOTE: &[&str] = &["ssh", "scp", "sftp", "mosh", "rsh", "rlogin", "autossh", "sshfs"];

/// Package managers: the local subcommands are ordinary programs, the others fetch or publish.
pub(super) const PACKAGES: &[&str] = &[
    "npm", "pnpm", "yarn", "npx", "bunx", "pip", "pip3", "pipx", "uv", "uvx", "poetry", "cargo", "go", "gem",
    "bundle", "composer", "brew", "apt", "apt-get", "aptitude", "dnf", "yum", "zypper", "pacman", "apk",
    "snap", "flatpak", "port", "nix", "nix-env", "conda", "mamba", "rustup",
];

pub(super) fn escalation(call: &Call<'_>) -> Verdict {
    let escalates = Verdict::new(
        Risk::Privileged,
        Authority::PrivilegedEscalation,
        format!("becomes another user with {}", call.name),
    );
    // What follows may be worse still; options with values make the guess too high, never too low.
    let command = call
        .args
        .iter()
        .position(|arg| arg.text().is_none_or(|text| !text.starts_with('-') && !text.contains('=')));
    match command.and_then(|at| call.args.get(at..)) {
        Some(inner) => escalates.and(call.inner(inner)),
        None => escalates,
    }
}

pub(super) fn ruinous(call: &Call<'_>) -> Verdict {
    Verdict::new(
        Risk::Forbidden,
        Authority::OutsideWorkspace,
        format!("runs {}, which can destroy a disk's contents", call.name),
    )
}

pub(super) fn administration(call: &Call<'_>) -> Verdict {
    call.words(Access::Either).and(Verdict::new(
        Risk::Privileged,
        Authority::OutsideWorkspace,
        format!("runs {}, which changes the machine or runs what it is given", call.name),
    ))
}

pub(super) fn network(call: &Call<'_>) -> Verdict {
    call.words(Access::Either).and(Verdict::network(format!("talks to another machine with {}", call.name)))
}

pub(super) fn remote(call: &Call<'_>) -> Verdict {
    call.words(Access::Either).and(Verdict::new(
        Risk::Privileged,
        Authority::Network,
        format!("works on another machine with {}", call.name),
    ))
}

pub(super) fn packages(call: &Call<'_>) -> Verdict {
    const SYSTEM: &[&str] = &[
        "apt", "apt-get", "aptitude", "dnf", "yum", "zypper", "pacman", "apk", "snap", "flatpak", "port",
        "nix-env",
    ];
    const FETCHES: &[&str] = &[
        "install",
        "i",
        "ci",
        "add",
        "update",
        "upgrade",
        "up",
        "get",
        "fetch",
        "download",
        "sync",
        "search",
        "info",
        "view",
        "audit",
        "outdated",
        "create",
        "exec",
        "dlx",
        "x",
        "lock",
        "toolchain",
        "component",
        "target",
        "self",
    ];
    const PUBLISHES: &[&str] = &[
        "publish",
        "push",
        "login",
        "logout",
        "adduser",
        "yank",
        "owner",
        "unpublish",
        "deprecate",
        "token",
        "upload",
    ];
    const LOCAL: &[&str] =
        &["run", "test", "t", "build", "check", "list", "ls", "--version", "-V", "-v", "version", "--help"];
    let name = call.name;
    if call.args.len() == 1 && call.has(&["--version", "-V", "version"]) {
        return Verdict::read("prints its version");
    }
    let sub = call.args.iter().find_map(|arg| arg.text().filter(|text| !text.starts_with(['-', '+'])));
    let local = call
        .cwd(Access::Either)
        .and(call.words(Access::Either))
        .and(Verdict::write(format!("runs {name}, which may change files of the workspace")));
    let fetches = || local.clone().and(Verdict::network(format!("fetches packages with {name}")));
    match sub {
        _ if SYSTEM.contains(&name) => local.and(Verdict::new(
            Risk::Privileged,
            Authority::Network,
            format!("changes the machine's packages with {name}"),
        )),
        Some(sub) if PUBLISHES.contains(&sub) => local.and(Verdict::new(
            Risk::Privileged,
            Authority::Network,
            format!("publishes or signs in with {name} {sub}"),
        )),
        _ if ["npx", "bunx", "pipx", "uvx", "brew"].contains(&name) => fetches(),
        Some(sub) if FETCHES.contains(&sub) && !LOCAL.contains(&sub) => fetches(),
        None if name == "yarn" || name == "pnpm" => fetches(),
        _ => local,
    }
}

/// `kill` reaches any process of the user; jobs of this line are its own.
pub(super) fn kill(call: &Call<'_>) -> Verdict {
    let own = |arg: &Arg| arg.text().is_some_and(|text| text.starts_with('-') || text.starts_with('%'));
    if call.name == "kill" && (call.args.iter().all(own) || call.has(&["-l", "-L"])) {
        return Verdict::write("signals its own jobs");
    }
    Verdict::write("signals processes that may not be the workspace's").reaching(Authority::OutsideWorkspace)
}
