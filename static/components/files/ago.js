/** @type {[Intl.RelativeTimeFormatUnit, number][]} */
const UNITS = [
  ["second", 1],
  ["minute", 60],
  ["hour", 3600],
  ["day", 86400],
  ["week", 604800],
  ["year", 31557600],
];

/**
 * "3 minutes ago", for a time in seconds since 1970.
 * @param {number} seconds
 */
export function ago(seconds) {
  const past = Date.now() / 1000 - seconds;
  const [unit, length] = UNITS.findLast(([, seconds]) => past >= seconds) ?? UNITS[0];
  return new Intl.RelativeTimeFormat("en", { numeric: "auto" }).format(-Math.round(past / length), unit);
}
