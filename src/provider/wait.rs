//! How long a provider asks to wait: every form that headers, bodies and sentences say it in.
//!
//! The forms are tried from the most exact to the least; one that does not parse falls through to the next.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::Value;

/// Header look-up by lower-case name.
pub type Lookup<'a> = dyn Fn(&str) -> Option<String> + 'a;

/// What the answer asks for, measured from `now`; none where it names no wait.
pub fn asked(header: &Lookup<'_>, body: Option<&Value>, text: &str, now: SystemTime) -> Option<Duration> {
    header("retry-after-ms")
        .and_then(|value| seconds(number(&value)? / 1000.0))
        .or_else(|| retry_after(&header("retry-after")?, now))
        .or_else(|| in_body(body?, now))
        .or_else(|| in_text(text))
        .or_else(|| reset(header, now))
}

/// Seconds, perhaps with a fraction, or an HTTP date.
fn retry_after(value: &str, now: SystemTime) -> Option<Duration> {
    if let Some(number) = number(value) {
        return seconds(number);
    }
    let date = jiff::fmt::rfc2822::parse(value.trim()).ok()?;
    until(clock(date.timestamp())?, now)
}

/// Gemini's `RetryInfo` and OpenRouter's headers, both inside the body.
fn in_body(body: &Value, now: SystemTime) -> Option<Duration> {
    let body = body.get(0).unwrap_or(body);
    let error = body.get("error").unwrap_or(body);
    let details = error.get("details").and_then(Value::as_array);
    let delay = details.into_iter().flatten().find_map(|detail| detail.get("retryDelay")?.as_str());
    if let Some(wait) = delay.and_then(go_duration) {
        return Some(wait);
    }
    let metadata = error.get("metadata");
    if let Some(wait) = metadata.and_then(|m| m.get("retry_after_seconds")?.as_f64()).and_then(seconds) {
        return Some(wait);
    }
    let headers = metadata?.get("headers")?.as_object()?;
    let header = |name: &str| {
        let (_, value) = headers.iter().find(|(have, _)| have.eq_ignore_ascii_case(name))?;
        Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    };
    header("retry-after").and_then(|value| retry_after(&value, now)).or_else(|| reset(&header, now))
}

/// "try again in 1.4s", "retry in 48.9s", "try again in 20 seconds", "in 6m0s".
fn in_text(text: &str) -> Option<Duration> {
    let lower = text.to_ascii_lowercase();
    ["again in ", "retry in ", "retry after "].iter().find_map(|lead| {
        let (_, rest) = lower.split_once(lead)?;
        let mut words = rest.split_whitespace();
        let first = words.next()?.trim_end_matches([',', '.', ')', ';']);
        match number(first) {
            None => go_duration(first),
            Some(number) => {
                let unit = words.next().unwrap_or("s");
                let factor = match unit.trim_end_matches([',', '.', ')', ';']) {
                    "ms" | "millisecond" | "milliseconds" => 0.001,
                    "m" | "min" | "minute" | "minutes" => 60.0,
                    "h" | "hour" | "hours" => 3600.0,
                    _ => 1.0,
                };
                seconds(number * factor)
            }
        }
    })
}

/// Rate-limit reset headers: of the limits that are used up, the one that is reset last. A limit whose remainder is
/// not given counts as used up only in the form without a suffix, which names one limit.
fn reset(header: &Lookup<'_>, now: SystemTime) -> Option<Duration> {
    let used_up = |name: &str| header(name).and_then(|left| number(&left)).is_some_and(|left| left <= 0.0);
    let openai = ["requests", "tokens"]
        .iter()
        .filter(|kind| used_up(&format!("x-ratelimit-remaining-{kind}")))
        .filter_map(|kind| moment(&header(&format!("x-ratelimit-reset-{kind}"))?, now))
        .max();
    let anthropic = || {
        ["requests", "tokens", "input-tokens", "output-tokens"]
            .iter()
            .filter(|kind| used_up(&format!("anthropic-ratelimit-{kind}-remaining")))
            .filter_map(|kind| moment(&header(&format!("anthropic-ratelimit-{kind}-reset"))?, now))
            .max()
    };
    openai.or_else(anthropic).or_else(|| moment(&header("x-ratelimit-reset")?, now))
}

/// A Go duration, an RFC 3339 time, or a number: epoch milliseconds, epoch seconds or seconds, by its size.
fn moment(value: &str, now: SystemTime) -> Option<Duration> {
    let value = value.trim();
    if let Some(number) = number(value) {
        let at = if number >= 1e11 {
            number / 1000.0
        } else if number >= 1e9 {
            number
        } else {
            return seconds(number);
        };
        return until(UNIX_EPOCH.checked_add(seconds(at)?)?, now);
    }
    if let Some(wait) = go_duration(value) {
        return Some(wait);
    }
    until(clock(value.parse().ok()?)?, now)
}

/// `12ms`, `1.4s`, `6m0s`, `1h2m3s`.
fn go_duration(mut text: &str) -> Option<Duration> {
    let mut total = 0.0;
    while !text.is_empty() {
        let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (amount, rest) = text.split_at_checked(digits)?;
        let unit_end = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let (unit, rest) = rest.split_at_checked(unit_end)?;
        let factor = match unit {
            "h" => 3600.0,
            "m" => 60.0,
            "s" => 1.0,
            "ms" => 1e-3,
            "us" | "µs" => 1e-6,
            "ns" => 1e-9,
            _ => return None,
        };
        total += number(amount)? * factor;
        text = rest;
    }
    seconds(total)
}

fn number(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|number: &f64| number.is_finite())
}

/// None for a negative number or one that no clock can count.
fn seconds(number: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(number).ok()
}

fn clock(at: jiff::Timestamp) -> Option<SystemTime> {
    UNIX_EPOCH.checked_add(Duration::from_millis(at.as_millisecond().try_into().ok()?))
}

/// A moment that has passed asks for no wait, but still says that the limit is over.
fn until(at: SystemTime, now: SystemTime) -> Option<Duration> {
    Some(at.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(headers: &[(&str, &str)], body: Value, text: &str, expected: Option<f64>) {
        let now = UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        let header =
            |name: &str| headers.iter().find(|(have, _)| *have == name).map(|(_, value)| (*value).to_owned());
        let wait = asked(&header, Some(&body), text, now);
        assert_eq!(wait, expected.map(Duration::from_secs_f64), "{headers:?} {body} {text}");
    }

    #[test]
    fn every_header_form_is_read() {
        check(&[("retry-after-ms", "1400.5"), ("retry-after", "2")], json!({}), "", Some(1.4005));
        check(&[("retry-after", "3")], json!({}), "", Some(3.0));
        check(&[("retry-after", "0.25")], json!({}), "", Some(0.25));
        check(&[("retry-after", "Tue, 14 Nov 2023 22:13:30 GMT")], json!({}), "", Some(10.0));
        check(&[("retry-after", "Tue, 14 Nov 2023 22:13:00 GMT")], json!({}), "", Some(0.0));
        check(&[("x-ratelimit-reset", "1700000026000")], json!({}), "", Some(26.0));
        check(&[("x-ratelimit-reset", "1700000026")], json!({}), "", Some(26.0));
        let one_left = [("x-ratelimit-remaining-requests", "9"), ("x-ratelimit-reset-requests", "1h0m0s")];
        check(&one_left, json!({}), "", None);
        let tokens = [("x-ratelimit-remaining-tokens", "0"), ("x-ratelimit-reset-tokens", "6m0.5s")];
        check(&tokens, json!({}), "", Some(360.5));
        let anthropic = [
            ("anthropic-ratelimit-tokens-remaining", "0"),
            ("anthropic-ratelimit-tokens-reset", "2023-11-14T22:13:50Z"),
        ];
        check(&anthropic, json!({}), "", Some(30.0));
    }

    #[test]
    fn a_form_that_does_not_parse_falls_through_to_the_next() {
        check(&[("retry-after-ms", "soon"), ("retry-after", "2")], json!({}), "", Some(2.0));
        check(&[("retry-after", "later")], json!({}), "Please try again in 12ms.", Some(0.012));
        check(&[("retry-after", "-1"), ("x-ratelimit-reset", "12")], json!({}), "", Some(12.0));
        check(&[("retry-after", "1e300")], json!({}), "", None);
    }

    #[test]
    fn bodies_and_sentences_are_read() {
        let gemini = json!({"error": {"details": [{"@type": "x"}, {"retryDelay": "48s"}]}});
        check(&[], gemini.clone(), "", Some(48.0));
        check(&[], json!([gemini]), "", Some(48.0));
        let reset = json!({"error": {"metadata": {"headers": {"X-RateLimit-Reset": "1700000005000"}}}});
        check(&[], reset, "", Some(5.0));
        check(&[], json!({}), "Slow down. Try again in 1.4s. Thanks", Some(1.4));
        check(&[], json!({}), "please try again in 20 seconds", Some(20.0));
        check(&[], json!({}), "Please retry in 2m3s", Some(123.0));
        check(&[], json!({}), "try again later", None);
    }
}
