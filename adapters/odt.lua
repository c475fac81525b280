-- A filter of pandoc for ODT: paragraphs that odt_for_pandoc.py marked become blocks of code, and formulas within a
-- paragraph are no blocks. The first paragraph has the number of formulas.

local mark = '^ragq%-code%-(%x*)$'

local function code(block)
  if block.t ~= 'Para' and block.t ~= 'Plain' then
    return nil
  end
  local digits = pandoc.utils.stringify(block.content):match(mark)
  return digits and digits:gsub('%x%x', function(pair) return string.char(tonumber(pair, 16)) end)
end

function Blocks(blocks)
  local made = pandoc.List()
  local lines
  for _, block in ipairs(blocks) do
    local line = code(block)
    if line and lines then
      lines:insert(line)
      made[#made] = pandoc.CodeBlock(table.concat(lines, '\n'))
    elseif line then
      lines = pandoc.List({ line })
      made:insert(pandoc.CodeBlock(line))
    else
      lines = nil
      made:insert(block)
    end
  end
  return made
end

function Para(found)
  if #found.content > 1 then
    for _, inline in ipairs(found.content) do
      if inline.t == 'Math' then
        inline.mathtype = 'InlineMath'
      end
    end
  end
  return found
end

function Pandoc(document)
  local formulas = 0
  document:walk({ Math = function() formulas = formulas + 1 end })
  document.blocks:insert(1, pandoc.Para({ pandoc.Str(tostring(formulas)) }))
  return document
end
