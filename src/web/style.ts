/** Style common to all pages: colours, light or dark as the system or the reader chooses. */
export const baseStyle: string = `
:root { color-scheme: light dark; --page: light-dark(#f6f7f9, #14171b); --card: light-dark(#ffffff, #1d2126); --ink: light-dark(#1f2328, #e6e9ed); --faint: light-dark(#59636e, #9aa4af); --line: light-dark(#d9dee4, #363d45); --accent: light-dark(#0b62a4, #6cb6ff); --warn: light-dark(#fff4d6, #453600); --warn-ink: light-dark(#5b4300, #ffe9b0); --row: light-dark(#eef3f8, #262c33); --on: light-dark(#dcebf8, #223a52); --bad: light-dark(#b3261e, #ff8a80); }
:root[data-theme="light"] { color-scheme: light; }
:root[data-theme="dark"] { color-scheme: dark; }
* { box-sizing: border-box; }
[hidden] { display: none !important; }
`
