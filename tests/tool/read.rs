//! `read` shows text by lines, images as images, and always says how to get what it left out.

use crystal::model::item::MediaType;
use serde_json::{Value, json};

use crate::tool::desk::Desk;

#[tokio::test]
async fn text_comes_with_line_numbers_and_a_window_says_what_is_left() {
    let desk = Desk::new();
    desk.put("f", "a\r\nb\n\td\ne");
    let read = |arguments: Value| desk.done("read", arguments);
    assert_eq!(read(json!({"path": "f"})).await.text, "     1\ta\n     2\tb\n     3\t\td\n     4\te\n");
    let part = read(json!({"path": "f", "offset": 2, "limit": 2})).await.text;
    assert_eq!(part, "     2\tb\n     3\t\td\n<lines 4-4 of 4 are not shown; go on with offset 4>\n");
}

/// Zoo-Code-Org/Zoo-Code#1728, coddy-project/coddy-agent#56
#[tokio::test]
async fn past_the_end_says_how_long_the_file_is() {
    let desk = Desk::new();
    desk.put("f", "1\n2\n3\n4\n5\n");
    for offset in [6, 100] {
        let text = desk.refused("read", json!({"path": "f", "offset": offset, "limit": 10})).await;
        assert!(text.contains("beyond the end") && text.contains("5 lines"), "{text}");
    }
    assert!(desk.done("read", json!({"path": "f", "offset": 5})).await.text.starts_with("     5\t5\n"));
}

/// mateaix/mateclaw#190
#[tokio::test]
async fn a_line_longer_than_the_output_is_read_to_its_end_by_following_the_advice() {
    let desk = Desk::new();
    let line = format!("[{}1]", "1,".repeat(140_000));
    desk.put("a.json", format!("{line}\nsecond\n"));
    let (mut column, mut seen) = (1, String::new());
    for _ in 0..10 {
        let text = desk.done("read", json!({"path": "a.json", "offset": 1, "column": column})).await.text;
        assert!(text.chars().count() <= 100_000);
        let (shown, note) = text.strip_prefix("     1\t").unwrap().split_once('\n').unwrap();
        assert!(!shown.is_empty());
        seen.push_str(shown);
        match note.split_once("and column ") {
            Some((_, rest)) => {
                column = rest.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap()
            }
            None => break,
        }
    }
    assert_eq!(seen, line);
    let text = desk.refused("read", json!({"path": "a.json", "column": 900_000})).await;
    assert!(text.contains("beyond the end of line 1"), "{text}");
}

#[tokio::test]
async fn a_long_file_is_read_to_its_end_by_following_the_advice() {
    let desk = Desk::new();
    let file: String = (1..=30_000).map(|n| format!("line {n} {}\n", "x".repeat(n % 17))).collect();
    desk.put("long", &file);
    let (mut offset, mut seen) = (1, String::new());
    for _ in 0..30 {
        let text = desk.done("read", json!({"path": "long", "offset": offset})).await.text;
        assert!(text.chars().count() <= 100_000);
        seen.extend(text.lines().filter_map(|line| Some(format!("{}\n", line.split_once('\t')?.1))));
        match text.split_once("go on with offset ") {
            Some((_, rest)) => offset = rest.trim_end_matches(">\n").parse().unwrap(),
            None => break,
        }
    }
    assert_eq!(seen, file);
}

/// JetBrains/koog#1524
#[tokio::test]
async fn an_empty_file_is_called_empty() {
    let desk = Desk::new();
    desk.put("empty.rs", "");
    let text = desk.done("read", json!({"path": "empty.rs"})).await.text;
    assert!(text.contains("empty") && !text.contains("binary"), "{text}");
}

/// Aider-AI/aider#305, Aider-AI/aider#56
#[tokio::test]
async fn other_encodings_are_decoded_and_binary_is_refused() {
    let desk = Desk::new();
    desk.put("u.txt", b"\xff\xfeh\0i\0\n\0");
    let text = desk.done("read", json!({"path": "u.txt"})).await.text;
    assert!(text.starts_with("     1\thi\n") && text.contains("UTF-16LE"), "{text}");
    desk.put("l.txt", b"un caf\xe9\n");
    let text = desk.done("read", json!({"path": "l.txt"})).await.text;
    assert!(text.starts_with("     1\tun café\n"), "{text}");
    for (name, bytes) in
        [("bin", &b"ELF\0\x01\x02"[..]), ("photo.heic", b"\0\0\0\x18ftypheic\0\0\0\0mif1heic")]
    {
        desk.put(name, bytes);
        let output = desk.call("read", json!({"path": name})).await;
        assert!(
            output.failed && output.images.is_empty() && output.text.contains("binary"),
            "{}",
            output.text
        );
    }
}

/// mofa-org/mofa#1064, yologdev/yoyo-evolve#250
#[tokio::test]
async fn a_cut_falls_between_characters() {
    for n in 0..3 {
        let desk = Desk::new();
        desk.put("f", format!("{}{}\n", "a".repeat(n), "語".repeat(150_000)));
        let text = desk.done("read", json!({"path": "f"})).await.text;
        assert!(text.contains(&format!("has {} characters", n + 150_000)), "{}", &text[text.len() - 200..]);
        assert!(text.chars().count() <= 100_000);
    }
}

/// anthropics/claude-code#29969, MoonshotAI/kimi-code#1508
#[tokio::test]
async fn an_image_is_known_by_its_contents() {
    let desk = Desk::new();
    desk.put("shot.png", jpeg(40, 30));
    let output = desk.done("read", json!({"path": "shot.png"})).await;
    assert_eq!(output.images.len(), 1);
    assert_eq!(output.images[0].media_type, MediaType::Jpeg);
    assert!(output.text.contains("image/jpeg, 40x30"), "{}", output.text);
    assert_eq!(desk.cx.images.load(&output.images[0].id).unwrap(), jpeg(40, 30));
    desk.put("about.txt", "GIF89a is how it begins\n");
    assert!(desk.done("read", json!({"path": "about.txt"})).await.text.contains("1\tGIF89a is"));
    desk.put("pic.png", "hello\n");
    let output = desk.done("read", json!({"path": "pic.png"})).await;
    assert!(output.images.is_empty());
    assert_eq!(output.text, "     1\thello\n");
}

/// earendil-works/pi#224, anthropics/claude-code#29969, Aider-AI/aider#305
#[tokio::test]
async fn an_image_that_providers_refuse_is_refused_first() {
    let desk = Desk::new();
    let mut heavy = png(100, 100, 5 * 1024 * 1024);
    for (name, bytes, part) in [
        ("wide.png", png(9000, 9000, 10), "8000 a side"),
        ("heavy.png", std::mem::take(&mut heavy), "more than the"),
        ("cut.png", b"\x89PNG\r\n\x1a\n".to_vec(), "broken or cut off"),
        ("half.png", png(10, 10, 100)[..60].to_vec(), "broken or cut off"),
        ("none.png", png(0, 10, 10), "broken or cut off"),
        ("half.jpg", jpeg(10, 10)[..20].to_vec(), "broken or cut off"),
        ("half.gif", b"GIF89a\x0a\0\x0a\0\0\0\0".to_vec(), "broken or cut off"),
    ] {
        desk.put(name, bytes);
        let output = desk.call("read", json!({"path": name})).await;
        assert!(
            output.failed && output.images.is_empty() && output.text.contains(part),
            "{name}: {}",
            output.text
        );
    }
}

#[tokio::test]
async fn a_model_without_eyes_is_told_what_the_image_is() {
    let mut desk = Desk::new();
    desk.cx.accepts_images = false;
    desk.put("a.png", png(20, 10, 10));
    let output = desk.done("read", json!({"path": "a.png"})).await;
    assert!(output.images.is_empty() && output.text.contains("image/png, 20x10"), "{}", output.text);
    assert!(output.text.contains("takes no images"), "{}", output.text);
}

#[tokio::test]
async fn a_huge_file_is_refused_with_a_way_to_look_at_it() {
    let desk = Desk::new();
    std::fs::File::create(desk.path("huge.log")).unwrap().set_len(1 << 40).unwrap();
    for (tool, arguments) in
        [("read", json!({"path": "huge.log"})), ("write", json!({"path": "huge.log", "contents": ""}))]
    {
        let text = desk.refused(tool, arguments).await;
        assert!(text.contains("1099511627776 bytes") && text.contains("grep"), "{text}");
    }
}

#[tokio::test]
async fn a_missing_file_and_a_directory_are_errors() {
    let desk = Desk::new();
    desk.put("dir/notes.md", "x");
    assert!(desk.refused("read", json!({"path": "dir/note.md"})).await.contains("notes.md"));
    assert!(desk.refused("read", json!({"path": "nowhere/at/all"})).await.contains("no file"));
    assert!(desk.refused("read", json!({"path": "dir"})).await.contains("a directory"));
}

/// A PNG of that size whose data chunk holds so many bytes; only its frame is right.
fn png(width: u32, height: u32, data: usize) -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1a\n".to_vec();
    let mut chunk = |kind: &[u8], data: &[u8]| {
        bytes.extend(u32::try_from(data.len()).unwrap().to_be_bytes());
        bytes.extend([kind, data, &[0; 4]].concat());
    };
    chunk(b"IHDR", &[&width.to_be_bytes()[..], &height.to_be_bytes(), &[8, 6, 0, 0, 0]].concat());
    chunk(b"IDAT", &vec![0; data]);
    chunk(b"IEND", &[]);
    bytes
}

/// A JPEG frame of that size without a picture in it.
fn jpeg(width: u16, height: u16) -> Vec<u8> {
    let mut bytes = b"\xff\xd8\xff\xe0\0\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0".to_vec();
    bytes.extend(b"\xff\xc0\0\x11\x08");
    bytes.extend(height.to_be_bytes());
    bytes.extend(width.to_be_bytes());
    bytes.extend(b"\x03\x01\x22\0\x02\x11\x01\x03\x11\x01\xff\xd9");
    bytes
}
