/** The parts of the chart library that the page needs. */

import { BarChart, CustomChart, LineChart } from 'echarts/charts'
import { GraphicComponent, GridComponent, MarkLineComponent, TooltipComponent } from 'echarts/components'
import { init, use } from 'echarts/core'
import { SVGRenderer } from 'echarts/renderers'

use([BarChart, CustomChart, LineChart, SVGRenderer])
use([GraphicComponent, GridComponent, MarkLineComponent, TooltipComponent])

export type Instance = ReturnType<typeof init>
export { init }
