// How a number is shown: the same as `trimbench_results::number`, whose documentation has the
// rules, by the same steps. A test compares them.
'use strict';

const trimbenchNumber = (() => {
  const TIMES = [
    ['s', 1],
    ['ms', 1e-3],
    ['us', 1e-6],
    ['ns', 1e-9],
  ];
  const SIZES = [
    ['TB', 1e12],
    ['GB', 1e9],
    ['MB', 1e6],
    ['KB', 1e3],
    ['B', 1],
  ];
  const RATES = SIZES.map(([name, base]) => [`${name}/s`, base]);
  const NANOSECOND = -9;
  const THOUSANDTH = -3;
  const MILLIONTH = -6;
  const PERCENT_MAX = 1000;
  const DIGITS_MAX = 1e15;
  const WHOLE = 1e-12;

  const pow10 = exponent => Number(`1e${exponent}`);
  const exponentIn = text => Number(text.split('e')[1]);
  const exponent = number => exponentIn(number.toExponential(2));
  const grouped = digits => digits.replace(/\B(?=(\d{3})+$)/g, ',');

  function isScaled(ladder, unit) {
    return ladder.some(([name]) => name === unit) && (!unit.includes('/') || unit === 'B/s');
  }

  function scaleOf(largest, given) {
    const unit = given === 'bytes' ? 'B' : given;
    const ladder = [TIMES, SIZES, RATES].find(one => isScaled(one, unit));
    if (!ladder) {
      const isFine = !(unit === '%' || unit === 'request-s' || unit.startsWith('s/'));
      const finest = isFine ? MILLIONTH : THOUSANDTH;
      return {unit, divisor: 1, finest, isCounted: isFine || unit === '%'};
    }
    const own = ladder.find(([name]) => name === unit)[1];
    const size = largest * own;
    const step = ladder.find(([, base]) => size >= 0.9995 * base) ?? ladder.at(-1);
    const [name, base] = size > 0 ? step : [unit, own];
    const finest = ladder === TIMES ? NANOSECOND - exponent(base) : MILLIONTH;
    return {unit: name, divisor: base / own, finest, isCounted: true};
  }

  function stepOf(scale, value, low, high) {
    const nearest = Math.sign(value) * Math.floor(Math.abs(value) + 0.5);
    const isWhole = Math.abs(value - nearest) <= WHOLE * Math.abs(value);
    if (low >= high && scale.isCounted && isWhole) return 0;
    const largest = value === 0 ? Math.max(Math.abs(low), Math.abs(high)) : Math.abs(value);
    const significant =
      largest > 0 ? Math.min(exponent(largest) - 2, 0) : Math.min(scale.finest, 0);
    const resolved =
      low < high ? exponentIn(((high - low) / 2).toExponential(1)) - 1 : significant;
    return Math.max(significant, resolved, scale.finest);
  }

  function rounded(value, step) {
    if (!Number.isFinite(value)) return 'not a number';
    if (Math.abs(value) >= DIGITS_MAX) return value.toExponential(2).replace('+', '');
    const scale = pow10(Math.abs(step));
    const steps =
      step < 0
        ? Math.floor(Math.abs(value) * scale + 0.5)
        : Math.floor(Math.abs(value) / scale + 0.5) * scale;
    const decimals = Math.max(0, -step);
    const digits = steps.toFixed(0).padStart(decimals + 1, '0');
    const whole = digits.slice(0, digits.length - decimals);
    const sign = value < 0 && steps > 0 ? '-' : '';
    const fraction = decimals > 0 ? `.${digits.slice(digits.length - decimals)}` : '';
    return sign + grouped(whole) + fraction;
  }

  // `low` and `high` may be missing: both or none.
  function shown(value, low, high, unit) {
    const bare = low === null || low === undefined;
    const [from, to] = bare ? [value, value] : [low, high];
    if (unit === '%' && value >= PERCENT_MAX) {
      const times = percent => percent / 100 + 1;
      return shown(times(value), bare ? null : times(from), bare ? null : times(to), 'times');
    }
    const scale = scaleOf(Math.max(Math.abs(value), Math.abs(from), Math.abs(to)), unit);
    const [middle, bottom, top] = [value, from, to].map(one => one / scale.divisor);
    const step = stepOf(scale, middle, bottom, top);
    const isBelow = Math.abs(middle) / pow10(step) < 0.5 && middle !== 0 && bottom >= top;
    const number = isBelow
      ? (middle > 0 ? '< ' : '> -') + rounded(pow10(step), step)
      : rounded(middle, step);
    const ends = bare ? null : [rounded(bottom, step), rounded(top, step)];
    return {number, unit: scale.unit, ends};
  }

  function text(found) {
    const quantity = found.unit ? `${found.number} ${found.unit}` : found.number;
    const [low, high] = found.ends ?? [];
    return low === high ? quantity : `${quantity} (${low} to ${high})`;
  }

  const missing = value => value === null || value === undefined || Number.isNaN(value);

  // Value, unit and, where it has a width, interval.
  function quantity(value, unit, low = null, high = null) {
    return missing(value) ? '–' : text(shown(value, low, high, unit));
  }

  // A place on an axis, whose unit stands in its title: four significant digits.
  function tick(value) {
    if (missing(value)) return '–';
    if (value === 0) return '0';
    const size = Math.abs(value);
    if (size >= DIGITS_MAX || size < 1e-6) return value.toExponential(2);
    if (size < 1000) return String(Number(value.toPrecision(4)));
    const digits = Number(size.toFixed(size < 10000 ? 1 : 0)).toString().split('.');
    return (value < 0 ? '-' : '') + [grouped(digits[0]), ...digits.slice(1)].join('.');
  }

  return {quantity, tick};
})();
