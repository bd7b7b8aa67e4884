// A chart's definition, as `trimbench_report::Chart` writes it, as an option of ECharts.
//
// The page draws it on a canvas, `trimbench report --figures` and the page's view without
// JavaScript as SVG in an embedded engine: this file knows neither a document nor a window.
'use strict';

const trimbenchChart = (() => {
  const THEMES = {
    light: {
      text: '#1c2430',
      faint: '#5a6675',
      line: '#c9d1da',
      paper: '#ffffff',
      heat: ['#f2f6fb', '#6aa5dc'],
      colours: [
        '#0b62a8',
        '#b3470b',
        '#1b7a3d',
        '#8a3fa0',
        '#a3262c',
        '#5f6b00',
        '#00727a',
        '#8c5a2b',
        '#c2378d',
        '#44546a',
        '#3f3fb0',
        '#6b4f00',
      ],
    },
    dark: {
      text: '#e6ebf1',
      faint: '#a7b3c1',
      line: '#3d4855',
      paper: '#171c23',
      heat: ['#1d2733', '#2a6ca8'],
      colours: [
        '#62b0f2',
        '#f0965a',
        '#67c98a',
        '#cf93e4',
        '#f08086',
        '#c3d04a',
        '#4fc9d2',
        '#d3a473',
        '#f08cc8',
        '#a9bace',
        '#9c9cff',
        '#d9b84a',
      ],
    },
  };
  const DASHES = ['solid', 'dashed', 'dotted'];
  const SYMBOLS = [
    'circle',
    'rect',
    'triangle',
    'diamond',
    'emptyCircle',
    'emptyRect',
    'emptyTriangle',
    'emptyDiamond',
  ];
  // More points than this on a line are drawn without a symbol each.
  const SYMBOLS_MAX = 40;
  // With more points than this a chart gets a slider to zoom with.
  const SLIDER_MIN = 100;
  const NARROW = 560;
  const FAMILY = 'system-ui, sans-serif';
  // How wide a letter is at most, on average, in pixels: for where no one can measure a text.
  const LETTER = 7.2;
  // How wide the sign before a name of a legend is; what lies between two names; from row to row.
  const SIGN = 18;
  const LEGEND_GAP = 10;
  const LEGEND_ROW = SIGN - 4 + LEGEND_GAP;
  // The most room for the names of categories beside their axis.
  const NAMES_MAX = 260;
  const NAMES_NARROW = 100;
  // Stretches shorter than this share of all are not labelled.
  const SHARE_MIN = 0.12;

  const UNITS = {
    B: [
      ['B', 1],
      ['KiB', 1024],
      ['MiB', 1048576],
      ['GiB', 1073741824],
      ['TiB', 1099511627776],
    ],
    s: [
      ['ns', 1e-9],
      ['us', 1e-6],
      ['ms', 1e-3],
      ['s', 1],
    ],
    ms: [
      ['ns', 1e-6],
      ['us', 1e-3],
      ['ms', 1],
      ['s', 1000],
    ],
  };

  // A number on an axis, with a unit of its size where the axis runs over many orders.
  function tick(axis) {
    const ladder = axis.scale === 'log' ? UNITS[axis.unit] : undefined;
    return value => {
      if (!ladder || value === 0) return trimbenchNumber.tick(value);
      const step = ladder.filter(entry => Math.abs(value) >= entry[1] * 0.9999).pop() || ladder[0];
      return trimbenchNumber.tick(value / step[1]) + '\u2009' + step[0];
    };
  }

  // A value, as it is shown in every report.
  function quantity(value, axis, low, high) {
    return trimbenchNumber.quantity(value, axis.unit, low, high);
  }

  // Room for the names of categories beside a vertical axis.
  function namesWidth(axis, narrow) {
    const longest = Math.max(...axis.categories.map(name => name.length));
    return Math.min(narrow ? NAMES_NARROW : NAMES_MAX, (longest + 1) * LETTER);
  }

  // `whole`: an axis of places begins and ends where the values do; one of values where it suits.
  function axisOption(axis, theme, {vertical, narrow, whole = false}) {
    const category = axis.scale === 'category';
    const name = axis.unit && !category ? `${axis.title} (${axis.unit})` : axis.title;
    const option = {
      name,
      nameLocation: 'middle',
      nameGap: vertical ? (narrow ? 46 : 58) : 30,
      nameTextStyle: {color: theme.faint},
      type: category ? 'category' : axis.scale === 'log' ? 'log' : 'value',
      axisLabel: {color: theme.faint, hideOverlap: !category},
      axisLine: {show: true, lineStyle: {color: theme.faint}},
      splitLine: {show: !category, lineStyle: {color: theme.line}},
    };
    if (category) {
      option.data = axis.categories;
      option.axisLabel.interval = 0;
      option.axisLabel.width = vertical ? namesWidth(axis, narrow) : undefined;
      option.axisLabel.overflow = 'truncate';
      if (vertical) option.inverse = true;
      if (!vertical && axis.categories.length > 6) option.axisLabel.rotate = 30;
    } else {
      option.axisLabel.formatter = tick(axis);
      // Sizes double, times grow tenfold.
      if (axis.scale === 'log') option.logBase = axis.unit === 'B' ? 2 : 10;
      option.min = axis.min ?? (whole ? 'dataMin' : undefined);
      option.max = axis.max ?? (whole ? 'dataMax' : undefined);
      if (whole) option.axisLabel.showMaxLabel = false;
    }
    return option;
  }

  // The ends of an interval over bars or points, as a line with two caps.
  function whiskers(series, colour, horizontal) {
    const data = [];
    series.y.forEach((value, index) => {
      const low = series.low[index],
        high = series.high[index];
      if (value !== null && low !== null && high !== null) data.push([series.x[index], low, high]);
    });
    const cap = 5;
    return {
      name: series.name,
      type: 'custom',
      silent: true,
      z: 5,
      data,
      clip: true,
      dimensions: ['place', 'low', 'high'],
      encode: horizontal ? {y: 0, x: [1, 2]} : {x: 0, y: [1, 2]},
      tooltip: {show: false},
      renderItem(_, api) {
        const place = api.value(0);
        const ends = [1, 2].map(end =>
          horizontal ? api.coord([api.value(end), place]) : api.coord([place, api.value(end)]),
        );
        const [a, b] = ends;
        const line = (x1, y1, x2, y2) => ({
          type: 'line',
          shape: {x1, y1, x2, y2},
          style: {stroke: colour, lineWidth: 1.5},
        });
        const caps = horizontal
          ? [line(a[0], a[1] - cap, a[0], a[1] + cap), line(b[0], b[1] - cap, b[0], b[1] + cap)]
          : [line(a[0] - cap, a[1], a[0] + cap, a[1]), line(b[0] - cap, b[1], b[0] + cap, b[1])];
        return {type: 'group', children: [line(a[0], a[1], b[0], b[1]), ...caps]};
      },
    };
  }

  // What lies between the low and the high of each point, as one shape.
  function band(series, colour) {
    const places = series.x
      .map((_, index) => index)
      .filter(index => series.low[index] !== null && series.high[index] !== null);
    return {
      name: series.name,
      type: 'custom',
      silent: true,
      z: 1,
      clip: true,
      tooltip: {show: false},
      itemStyle: {color: colour},
      // Every point is there, so that the axes reach over all of them; the first draws the shape.
      data: places.map(index => [series.x[index], series.low[index], series.high[index]]),
      encode: {x: 0, y: [1, 2]},
      renderItem(parameters, api) {
        if (parameters.dataIndexInside !== 0) return null;
        const above = places.map(index => api.coord([series.x[index], series.high[index]]));
        const below = places.map(index => api.coord([series.x[index], series.low[index]]));
        return {
          type: 'polygon',
          shape: {points: above.concat(below.reverse())},
          style: {fill: colour, opacity: 0.22},
        };
      },
    };
  }

  function marks(list, theme) {
    const lines = list.filter(mark => mark.to === null || mark.to === undefined);
    const areas = list.filter(mark => mark.to !== null && mark.to !== undefined);
    const whole = Math.max(...areas.map(mark => mark.to)) - Math.min(...areas.map(mark => mark.at));
    const key = mark => (mark.axis === 'x' ? 'xAxis' : 'yAxis');
    return {
      markLine: {
        silent: true,
        symbol: 'none',
        animation: false,
        lineStyle: {color: theme.text, type: 'dashed', width: 1},
        data: lines.map(mark => ({
          [key(mark)]: mark.at,
          name: mark.label,
          label: {
            show: true,
            formatter: () => mark.label,
            color: theme.text,
            position: mark.axis === 'x' ? 'end' : 'insideStartTop',
            rotate: 0,
            distance: 3,
          },
        })),
      },
      markArea: {
        silent: true,
        animation: false,
        data: areas.map((mark, index) => [
          {
            [key(mark)]: mark.at,
            name: mark.label,
            itemStyle: {color: theme.text, opacity: index % 2 ? 0.03 : 0.09},
            // A stretch too short for its name is shaded only.
            label: {
              show: mark.to - mark.at >= SHARE_MIN * whole,
              color: theme.faint,
              position: mark.axis === 'x' ? 'insideTop' : 'insideLeft',
              fontSize: 11,
            },
          },
          {[key(mark)]: mark.to},
        ]),
      },
    };
  }

  // One series of the definition as those of ECharts that draw it.
  function drawn(chart, series, theme) {
    // A curve that belongs to another has its colour.
    const owners = chart.series.filter(other => !other.like);
    const index = Math.max(
      0,
      owners.findIndex(other => other.name === (series.like ?? series.name)),
    );
    const colour = theme.colours[index % theme.colours.length];
    const horizontal = chart.horizontal;
    const pair = place =>
      horizontal ? [series.y[place], series.x[place]] : [series.x[place], series.y[place]];
    const data = series.x.map((_, place) => pair(place));
    const common = {name: series.name, itemStyle: {color: colour}, animation: false};
    if (series.kind === 'cells') {
      return [
        {
          ...common,
          type: 'heatmap',
          data: data.map((value, place) => [...value, series.z[place]]),
          itemStyle: {borderColor: theme.paper, borderWidth: 1},
          label: {
            show: true,
            formatter: item =>
              item.value[2] === null
                ? '–'
                : (series.labels?.[item.dataIndex] ?? quantity(item.value[2], chart.z)),
            color: theme.text,
          },
        },
      ];
    }
    if (series.kind === 'bars') {
      const intervals = series.low ? [whiskers(series, theme.text, horizontal)] : [];
      const noted = series.labels || [];
      return [
        {
          ...common,
          type: 'bar',
          barMaxWidth: 26,
          stack: series.stack || undefined,
          data: data.map((value, place) => ({
            value,
            // What is not told apart from nothing is drawn hollow, and says so.
            itemStyle:
              series.faint && series.faint[place]
                ? {color: theme.paper, borderColor: colour, borderWidth: 1.5, borderType: 'dashed'}
                : undefined,
          })),
          label: {
            show: noted.length > 0,
            position: horizontal ? 'right' : 'top',
            color: theme.text,
            formatter: item => noted[item.dataIndex] || '',
          },
        },
        ...intervals,
      ];
    }
    if (series.kind === 'points') {
      const intervals = series.low ? [whiskers(series, colour, false)] : [];
      return [
        {
          ...common,
          type: 'scatter',
          symbol: SYMBOLS[index % SYMBOLS.length],
          symbolSize: 8,
          data,
        },
        ...intervals,
      ];
    }
    const bands = series.low ? [band(series, colour)] : [];
    const symbol = SYMBOLS[index % SYMBOLS.length];
    const many = series.x.length > SYMBOLS_MAX;
    // A value between two that are missing is on no line: it is a point, however many there are.
    const missing = place => (series.y[place] ?? null) === null;
    const alone = place => !missing(place) && missing(place - 1) && missing(place + 1);
    const pointed = value => ({value, symbol, symbolSize: 6});
    return [
      {
        ...common,
        z: 3,
        type: 'line',
        data: many ? data.map((value, place) => (alone(place) ? pointed(value) : value)) : data,
        connectNulls: false,
        step: series.kind === 'steps' ? 'end' : false,
        symbol: many ? 'none' : symbol,
        symbolSize: 6,
        lineStyle: {
          color: colour,
          width: 1.6,
          type: series.dash
            ? DASHES[series.dash]
            : DASHES[Math.floor(index / theme.colours.length) % DASHES.length],
        },
      },
      ...bands,
    ];
  }

  function escaped(text) {
    return String(text).replace(
      /[&<>"]/g,
      sign => ({'&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;'})[sign],
    );
  }

  function tooltip(chart, theme) {
    const cells = chart.series.some(series => series.kind === 'cells');
    const lines = chart.series.some(series => series.kind === 'line' || series.kind === 'steps');
    const place = (axis, value) =>
      axis.scale === 'category' ? axis.categories[value] : quantity(value, axis);
    const row = item => {
      const series = chart.series.find(candidate => candidate.name === item.seriesName);
      if (!series || item.seriesType === 'custom') return '';
      const index = item.dataIndex;
      return `<br>${item.marker}${escaped(series.name)}: <b>${escaped(quantity(series.y[index], chart.y, series.low?.[index], series.high?.[index]))}</b>`;
    };
    return {
      trigger: lines ? 'axis' : 'item',
      confine: true,
      backgroundColor: theme.paper,
      borderColor: theme.line,
      textStyle: {color: theme.text},
      axisPointer: {type: 'line', lineStyle: {color: theme.faint}},
      formatter(found) {
        const items = Array.isArray(found) ? found : [found];
        const shown = items.filter(item => item.seriesType !== 'custom');
        if (shown.length === 0) return '';
        const first = shown[0];
        if (cells) {
          const series = chart.series[0];
          const index = first.dataIndex;
          return `${escaped(chart.x.title)}: ${escaped(place(chart.x, series.x[index]))}<br>${escaped(chart.y.title)}: ${escaped(place(chart.y, series.y[index]))}${series.labels ? `<br><b>${escaped(series.labels[index])}</b>` : ''}<br><b>${escaped(quantity(series.z[index], chart.z))}</b>${series.labels ? ` ${escaped(chart.z.title)}` : ''}`;
        }
        const series = chart.series.find(candidate => candidate.name === first.seriesName);
        const x = series ? series.x[first.dataIndex] : undefined;
        return `${escaped(chart.x.title)}: ${escaped(place(chart.x, x))}${shown.slice(0, 16).map(row).join('')}`;
      },
    };
  }

  // The names of a chart's legend: in a still picture those that are drawn, all of them.
  function legendNames(chart, still) {
    const drawn = chart.series.filter(series => !still || !series.hidden);
    return chart.series.length > 1 ? drawn.map(series => series.name) : [];
  }

  // How much higher a still picture is than others, for a legend that no one can turn the pages of.
  // The width of a text is a guess, and rather too large.
  function legendHeight(chart, width) {
    let rows = 1;
    let used = 0;
    for (const name of legendNames(chart, true)) {
      const needed = SIGN + 5 + LETTER * name.length + LEGEND_GAP;
      if (used > 0 && used + needed > width - 20) [rows, used] = [rows + 1, 0];
      used += needed;
    }
    return (rows - 1) * LEGEND_ROW;
  }

  // Rows of bars need room: a chart of names is as high as it has of them.
  function rowsHeight(chart) {
    const bars = chart.series.filter(series => series.kind === 'bars');
    const stacks = new Set(bars.map((series, index) => series.stack || index)).size;
    const height = 110 + chart.x.categories.length * Math.max(26, 12 + 15 * stacks);
    return Math.max(170, Math.min(height, 1600));
  }

  // The option of ECharts for a chart.
  //
  // `theme` is `light` or `dark`, `width` in pixels; `still` leaves out what only a reader with a
  // mouse needs.
  function option(chart, {theme: name = 'light', width = 960, still = false} = {}) {
    const theme = THEMES[name];
    const narrow = width < NARROW;
    const horizontal = chart.horizontal;
    const x = horizontal ? chart.y : chart.x;
    const y = horizontal ? chart.x : chart.y;
    const names = legendNames(chart, still);
    const legend = names.length > 0;
    const cells = chart.series.some(series => series.kind === 'cells');
    const points = chart.series.some(series => series.kind === 'points');
    const zoomable = !cells && x.scale !== 'category' && y.scale !== 'category';
    const slider = zoomable && !still && chart.series.some(series => series.x.length >= SLIDER_MIN);
    const series = chart.series.flatMap(one => drawn(chart, one, theme));
    if (chart.marks.length > 0 && series.length > 0) {
      // Marks are of the chart: they stay when the reader switches a series off.
      series.push({
        type: 'line',
        name: '',
        data: [],
        silent: true,
        tooltip: {show: false},
        ...marks(chart.marks, theme),
      });
    }
    const yAxis = axisOption(y, theme, {vertical: true, narrow});
    if (horizontal) yAxis.name = '';
    const named = chart.marks.some(mark => mark.axis === 'x' && !mark.to);
    return {
      animation: false,
      // A file stands on whatever page; on ours the card shines through.
      backgroundColor: still ? theme.paper : 'transparent',
      textStyle: {fontFamily: FAMILY, color: theme.text},
      aria: {enabled: true, label: {description: `${chart.title}. ${chart.description}`}},
      grid: {
        left:
          cells && !horizontal
            ? 84
            : y.scale === 'category'
              ? namesWidth(y, narrow) + 14
              : narrow
                ? 62
                : 78,
        right: !cells && chart.series.some(one => one.labels) ? 90 : 24,
        top:
          (legend || cells ? 44 : 18) + (named ? 14 : 0) + (still ? legendHeight(chart, width) : 0),
        // Many names below the cells are slanted.
        bottom: slider ? 84 : cells && x.categories.length > 6 ? 118 : 52,
      },
      legend: legend
        ? {
            type: still ? 'plain' : 'scroll',
            itemGap: LEGEND_GAP,
            // The sign of a point fills this, whatever its shape.
            itemWidth: SIGN,
            itemHeight: SIGN - 4,
            top: 4,
            data: names,
            textStyle: {color: theme.text},
            inactiveColor: theme.faint,
            pageTextStyle: {color: theme.text},
            pageIconColor: theme.text,
            pageIconInactiveColor: theme.line,
            selected: Object.fromEntries(chart.series.map(one => [one.name, !one.hidden])),
          }
        : undefined,
      tooltip: still ? undefined : tooltip(chart, theme),
      dataZoom:
        zoomable && !still
          ? [
              {
                type: 'inside',
                xAxisIndex: 0,
                filterMode: 'none',
                zoomOnMouseWheel: 'ctrl',
                moveOnMouseWheel: false,
                moveOnMouseMove: true,
              },
              ...(slider
                ? [
                    {
                      type: 'slider',
                      xAxisIndex: 0,
                      filterMode: 'none',
                      height: 22,
                      bottom: 8,
                      textStyle: {color: theme.faint},
                      borderColor: theme.line,
                      labelFormatter: tick(x),
                    },
                  ]
                : []),
            ]
          : undefined,
      visualMap: cells
        ? {
            min: chart.z.min ?? 0,
            max: chart.z.max ?? 1,
            calculable: false,
            orient: 'horizontal',
            left: 'center',
            top: 0,
            itemHeight: 160,
            itemWidth: 12,
            show: !narrow,
            inRange: {color: theme.heat},
            textStyle: {color: theme.faint},
            dimension: 2,
            seriesIndex: 0,
            text: [quantity(chart.z.max ?? 1, chart.z), quantity(chart.z.min ?? 0, chart.z)],
          }
        : undefined,
      // Values that lie along it are bars, which begin at nothing; points keep off its ends.
      xAxis: axisOption(x, theme, {vertical: false, narrow, whole: !horizontal && !points}),
      yAxis,
      series,
    };
  }

  return {FAMILY, LETTER, escaped, legendHeight, option, rowsHeight};
})();
