import { setPlatformAPI, init } from 'echarts'
setPlatformAPI({ measureText: (t: string, f?: string) => { if (t.length>20) console.log(JSON.stringify(f), t.slice(0,60)); return { width: t.length*6 } } })
const i = init(null,null,{renderer:'svg',ssr:true,width:400,height:200})
i.setOption({graphic:[{type:'text', style:{text:'a\nabcdefghijklmnopqrstuvwxyz123 abcdef', fontFamily:'Helvetica, Arial', fontSize: 11.5, width: 100, overflow:'truncate'}}]})
i.renderToSVGString()
