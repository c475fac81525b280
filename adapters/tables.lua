-- A filter of pandoc: cells in one line each, and captions as paragraphs below their tables, after a colon. Pandoc leaves
-- a table out whose cells have more than one line.

local space = pandoc.Space()

local function line(blocks)
  local words = pandoc.List()
  local function add(block)
    words:insert(space)
    words:extend(block.content)
  end
  local function add_code(block)
    words:insert(space)
    words:insert(pandoc.Code(block.text))
  end
  pandoc.Blocks(blocks):walk({ traverse = 'topdown', Plain = add, Para = add, Header = add, CodeBlock = add_code })
  words:remove(1)
  return pandoc.Inlines(words):walk({
    LineBreak = function() return space end,
    Code = function(code) return pandoc.Code((code.text:gsub('%s+', ' ')), code.attr) end,
  })
end

local function flatten(rows)
  for _, row in ipairs(rows) do
    for _, cell in ipairs(row.cells) do
      cell.contents = { pandoc.Plain(line(cell.contents)) }
    end
  end
end

function Table(found)
  flatten(found.head.rows)
  flatten(found.foot.rows)
  for _, body in ipairs(found.bodies) do
    flatten(body.head)
    flatten(body.body)
  end
  local caption = line(found.caption.long)
  if #caption == 0 then
    return found
  end
  found.caption = { long = {} }
  caption:insert(1, pandoc.Str(': '))
  return { found, pandoc.Para(caption) }
end
