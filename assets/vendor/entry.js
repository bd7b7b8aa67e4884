// What of Apache ECharts the page uses; `cargo xtask vendor` bundles it into echarts.js.
import * as echarts from 'echarts/core';
import {BarChart, CustomChart, HeatmapChart, LineChart, ScatterChart} from 'echarts/charts';
import {
  AriaComponent, DataZoomComponent, GridComponent, LegendComponent, MarkAreaComponent,
  MarkLineComponent, TooltipComponent, VisualMapComponent,
} from 'echarts/components';
import {CanvasRenderer, SVGRenderer} from 'echarts/renderers';

echarts.use([
  BarChart, CustomChart, HeatmapChart, LineChart, ScatterChart, AriaComponent, DataZoomComponent,
  GridComponent, LegendComponent, MarkAreaComponent, MarkLineComponent, TooltipComponent,
  VisualMapComponent, CanvasRenderer, SVGRenderer,
]);

export const init = echarts.init;
export const setPlatformAPI = echarts.setPlatformAPI;
export const version = echarts.version;
